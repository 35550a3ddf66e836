"""Classification of failed model calls: whether to retry, and the error message for the user.

Providers raise their own errors. LangChain gives most of them a common class; the rest are
recognised by HTTP status, or as connection and timeout errors of the HTTP library.
"""

from http import HTTPStatus

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)

from bathysphere.core.errors import (
    BathysphereError,
    ModelUnavailable,
    RequestRefused,
    StorageLost,
    UpstreamError,
)
from bathysphere.models import lm_studio, ollama
from bathysphere.models.hosted import KNOWN
from bathysphere.models.names import LM_STUDIO, OLLAMA

_TRANSIENT = {408, 409, 429}
_SERVER_ERRORS = range(500, 600)
# By name, because the clients use two HTTP libraries and either may be missing.
_HTTP_LIBRARIES = {"httpx", "httpx2"}
_TIMEOUTS = {"TimeoutException"}
_LOST_CONNECTIONS = {"NetworkError", "RemoteProtocolError"}
_OUT_OF_CREDIT = "insufficient_quota"

_START_HINTS = {OLLAMA: ollama.HINT, LM_STUDIO: lm_studio.HINT}
_UNREACHABLE_HINT = "check the network and the provider's status page, then try again"


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed if retried.

    True for timeouts, lost connections, 408, 409, 429, 5xx and a lost database. False for a bad
    key, a bad request and an account without credit, even though that is reported as a 429.
    """
    if isinstance(error, StorageLost):
        return True
    if isinstance(error, BathysphereError):
        return error.__cause__ is not None and is_transient(error.__cause__)
    if getattr(error, "code", None) == _OUT_OF_CREDIT:
        return False
    status = status_of(error)
    if status is not None:
        return status in _TRANSIENT or status in _SERVER_ERRORS
    if isinstance(error, ModelError):
        return error.is_retryable
    return _timed_out(error) or _lost(error)


def explain(error: Exception, name: str) -> BathysphereError | None:
    """Return the error to show for a failure of model `name`; None if it is not the model's.

    Also None if the context is too long: the summarising middleware handles that error.
    """
    if isinstance(error, BathysphereError | ContextOverflowError):
        return None
    if _timed_out(error):
        return UpstreamError(
            f"{name} timed out",
            hint="try again, or increase BATHYSPHERE_MODEL_TIMEOUT_S",
        )
    if _lost(error):
        hint = _START_HINTS.get(name.partition(":")[0], _UNREACHABLE_HINT)
        return ModelUnavailable(f"{name} is unreachable", hint=hint)
    status = status_of(error)
    return None if status is None else _explain_status(status, error, name)


def _explain_status(status: int, error: Exception, name: str) -> BathysphereError:
    if status in {401, 403}:
        known = KNOWN.get(name.partition(":")[0])
        key = known.variable if known else "the provider's API key"
        return ModelUnavailable(f"{name} rejected the API key", hint=f"check {key}")
    if status == HTTPStatus.NOT_FOUND:
        return ModelUnavailable(
            f"{name} is unknown to its provider", hint="list models with `bathysphere models`"
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamError(
            f"{name} is rate limiting requests",
            hint="wait, check the account's credit, or set BATHYSPHERE_MODEL_FALLBACK",
        )
    if status in _SERVER_ERRORS or status in _TRANSIENT:
        return UpstreamError(
            f"{name} failed with status {status}",
            hint="try again later, or set BATHYSPHERE_MODEL_FALLBACK",
        )
    return RequestRefused(f"{name} rejected the request ({status}): {_first_line(error)}")


def status_of(error: BaseException) -> int | None:
    """The HTTP status with which a provider refused a call, if it did."""
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
