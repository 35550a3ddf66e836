"""The interface of authentication methods: `Identify`, credentials and errors."""

from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection

from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.crons.records import Grant

Identify = Callable[[HTTPConnection], Awaitable[Owner]]
"""Maps a connection to the owner whose data it may access; raises `Unauthenticated`."""

LOCAL = Owner(tenant="local", user="local")
"""The owner of all requests on a server without authentication."""

OWNER_KEY = "bathysphere.owner"
GRANT_KEY = "bathysphere.grant"
ROLES_KEY = "bathysphere.roles"
"""Scope key of the caller's roles, which only authentication sets."""
ADMIN = "admin"
USER_KEY = "bathysphere.user"
"""Scope key of the caller as a project's own authentication described them."""
_MAX_LENGTH = 16_384
_HINT = "send `Authorization: Bearer <key or token>`"


class Unauthenticated(CallerError):
    """The credential is missing or invalid. HTTP 401."""

    code = "unauthenticated"

    def __init__(self, message: str, *, hint: str = _HINT) -> None:
        super().__init__(message, hint=hint)


class IdentityUnavailable(UpstreamError):
    """The credential cannot be checked right now. HTTP 503."""

    code = "identity_unavailable"


async def anonymous(connection: HTTPConnection) -> Owner:
    """Identify everyone as the same local owner. Only for servers that others cannot reach."""
    connection.scope[GRANT_KEY] = Grant(is_unlimited=True)
    return LOCAL


def once(identify: Identify) -> Identify:
    """Cache the result per request, in the connection's scope."""

    async def identified(connection: HTTPConnection) -> Owner:
        known = connection.scope.get(OWNER_KEY)
        if isinstance(known, Owner):
            return known
        owner = await identify(connection)
        connection.scope[OWNER_KEY] = owner
        return owner

    return identified


def grant_of(connection: HTTPConnection) -> Grant:
    """What the request's identity can be checked by later; authentication has set it."""
    found = connection.scope.get(GRANT_KEY)
    return found if isinstance(found, Grant) else Grant()


def roles_of(connection: HTTPConnection) -> frozenset[str]:
    """The roles of an identified caller."""
    found = connection.scope.get(ROLES_KEY)
    return found if isinstance(found, frozenset) else frozenset()


async def identify_again(identify: Identify, connection: HTTPConnection) -> Owner:
    """Identify a connection again: its key may be revoked, its token may have expired."""
    known = (OWNER_KEY, ROLES_KEY)
    scope = {name: value for name, value in connection.scope.items() if name not in known}
    return await identify(HTTPConnection(scope))


def credential(connection: HTTPConnection) -> str:
    """The request's credential: a bearer token, or the `x-api-key` of LangGraph's clients.

    Raises:
        Unauthenticated: It is missing, malformed or not the only one.
    """
    found = connection.headers.getlist("authorization")
    keys = connection.headers.getlist("x-api-key")
    if len(found) + len(keys) > 1:
        raise Unauthenticated("More than one credential in the request", hint="send only one")
    if keys:
        return _validated(keys[0])
    if not found:
        raise Unauthenticated("Missing credential")
    scheme, _, token = found[0].partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("The Authorization header is not a bearer token")
    return _validated(token)


def _validated(value: str) -> str:
    is_plain = value.isascii() and value.isprintable() and " " not in value
    if not value or not is_plain or len(value) > _MAX_LENGTH:
        raise Unauthenticated(
            "The credential is empty, too long or contains spaces",
            hint="copy it again, without quotes, spaces or line breaks",
        )
    return value
