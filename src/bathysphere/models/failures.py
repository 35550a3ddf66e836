"""What a failed model call means: whether to try again, and the one sentence a person reads.

Providers raise errors of their own. LangChain gives most of them a common class; what is left is
known by its HTTP status, or by being a connection or a timeout of the HTTP library.
"""

from http import HTTPStatus

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)

from bathysphere.core.errors import BathysphereError, ModelUnavailable, UpstreamError
from bathysphere.models import lm_studio, ollama
from bathysphere.models.hosted import KNOWN
from bathysphere.models.names import LM_STUDIO, OLLAMA

_PASSING = {408, 409, 429}
_SERVER_ERRORS = range(500, 600)
# By name, because the clients use two HTTP libraries and either may be missing.
_HTTP_LIBRARIES = {"httpx", "httpx2"}
_TIMEOUTS = {"TimeoutException"}
_LOST_CONNECTIONS = {"NetworkError", "RemoteProtocolError"}
_SPENT = "insufficient_quota"

_START = {OLLAMA: ollama.HINT, LM_STUDIO: lm_studio.HINT}
_OUT_OF_REACH = "check the network and the provider's status page, then try again"


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed a moment later.

    Timeouts, lost connections, 408, 409, 429 and 5xx are; a bad key or a bad request is not, and
    neither is an account without credit, though that comes as a 429.
    """
    if isinstance(error, BathysphereError):
        return error.__cause__ is not None and is_transient(error.__cause__)
    if getattr(error, "code", None) == _SPENT:
        return False
    status = _status(error)
    if status is not None:
        return status in _PASSING or status in _SERVER_ERRORS
    if isinstance(error, ModelError):
        return error.is_retryable
    return _timed_out(error) or _lost(error)


def explain(error: Exception, name: str) -> BathysphereError | None:
    """Say what went wrong with the model `name`, or nothing if it is not the model's failure.

    A context that is too long is left alone too: summarising middleware waits for that error.
    """
    if isinstance(error, BathysphereError | ContextOverflowError):
        return None
    if _timed_out(error):
        return UpstreamError(
            f"{name} did not answer in time",
            hint="try again, or raise BATHYSPHERE_MODEL_TIMEOUT_S",
        )
    if _lost(error):
        hint = _START.get(name.partition(":")[0], _OUT_OF_REACH)
        return ModelUnavailable(f"{name} cannot be reached", hint=hint)
    status = _status(error)
    return None if status is None else _explain_status(status, error, name)


def _explain_status(status: int, error: Exception, name: str) -> BathysphereError:
    if status in {401, 403}:
        known = KNOWN.get(name.partition(":")[0])
        which = known.variable if known else "the provider's key"
        return ModelUnavailable(f"{name} refuses the key", hint=f"check {which}")
    if status == HTTPStatus.NOT_FOUND:
        return ModelUnavailable(
            f"{name} is not known to its provider", hint="`bathysphere models` lists what is here"
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamError(
            f"{name} takes no more calls for now",
            hint="wait, check the account's credit, or set BATHYSPHERE_MODEL_FALLBACK",
        )
    if status in _SERVER_ERRORS or status in _PASSING:
        return UpstreamError(
            f"{name} failed with status {status}",
            hint="try again later, or set BATHYSPHERE_MODEL_FALLBACK",
        )
    return UpstreamError(f"{name} refuses the request ({status}): {_first_line(error)}")


def _status(error: BaseException) -> int | None:
    for attribute in ("status_code", "code"):
        value = getattr(error, attribute, None)
        if isinstance(value, int) and value in range(400, 600):
            return value
    return None


def _timed_out(error: BaseException) -> bool:
    return isinstance(error, TimeoutError | ModelTimeoutError) or _is_http(error, _TIMEOUTS)


def _lost(error: BaseException) -> bool:
    return isinstance(error, ConnectionError | ModelConnectionError) or _is_http(
        error, _LOST_CONNECTIONS
    )


def _is_http(error: BaseException, names: set[str]) -> bool:
    return any(
        kind.__name__ in names and kind.__module__.partition(".")[0] in _HTTP_LIBRARIES
        for kind in type(error).__mro__
    )


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:200]
