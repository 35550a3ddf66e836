"""What every way of knowing a caller has in common: the call, the credential and the refusal."""

from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection

from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.engine.records import Owner

Identify = Callable[[HTTPConnection], Awaitable[Owner]]
"""From a connection to the owner of what it may touch; raises `Unauthenticated`."""

LOCAL = Owner(tenant="local", user="local")
"""The owner on a machine where nobody is asked who they are."""

OWNER_KEY = "bathysphere.owner"
_LONGEST = 16_384
_HINT = "send `Authorization: Bearer <key or token>`"


class Unauthenticated(CallerError):
    """The caller has not shown who they are. HTTP 401."""

    code = "unauthenticated"

    def __init__(self, message: str, *, hint: str = _HINT) -> None:
        super().__init__(message, hint=hint)


class IdentityUnavailable(UpstreamError):
    """Who is asking cannot be looked up now. HTTP 503."""

    code = "identity_unavailable"


async def anonymous(connection: HTTPConnection) -> Owner:
    """Everyone is the same local person. Only for a server that only this machine can reach."""
    del connection
    return LOCAL


def once(identify: Identify) -> Identify:
    """Ask once for each request: the answer is kept in the connection's scope."""

    async def identified(connection: HTTPConnection) -> Owner:
        known = connection.scope.get(OWNER_KEY)
        if isinstance(known, Owner):
            return known
        owner = await identify(connection)
        connection.scope[OWNER_KEY] = owner
        return owner

    return identified


def credential(connection: HTTPConnection) -> str:
    """The one credential of a request: a bearer token, or the `x-api-key` of LangGraph's clients.

    Raises:
        Unauthenticated: There is none, or more than one, or it is not of that form.
    """
    found = connection.headers.getlist("authorization")
    keys = connection.headers.getlist("x-api-key")
    if len(found) + len(keys) > 1:
        raise Unauthenticated("the request has more than one credential", hint="send only one")
    if keys:
        return _plain(keys[0])
    if not found:
        raise Unauthenticated("the request has no credential")
    scheme, _, token = found[0].partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("the Authorization header is not a bearer token")
    return _plain(token)


def _plain(value: str) -> str:
    is_plain = value.isascii() and value.isprintable() and " " not in value
    if not value or not is_plain or len(value) > _LONGEST:
        raise Unauthenticated(
            "the credential is empty, too long or has blanks in it",
            hint="copy it again, without quotes, blanks or line ends",
        )
    return value
