"""Identify callers by a project's `@auth.authenticate` handler.

The handler's `identity` becomes the user of an `Owner`, and its `tenant`, if it returns one, the
tenant. So every thread, run, file and item of a caller is theirs alone, whatever the project's
other handlers allow.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request

from bathysphere.core.identity import Owner
from bathysphere.registry.errors import LoadError
from bathysphere.registry.modules import import_target
from bathysphere.registry.targets import AttributeTarget
from bathysphere.server.identity.identify import USER_KEY, IdentityUnavailable, Unauthenticated
from bathysphere.server.project_auth.filters import AccessDenied
from bathysphere.upstream import authenticate_handler

_log = logging.getLogger(__name__)
DEFAULT_TENANT = "default"
_MAX_NAME = 255
_HINT = "send the credential that this project's authentication expects"
_ARGUMENTS: Mapping[str, Callable[[HTTPConnection], Any]] = {
    "request": lambda connection: Request(connection.scope),
    "scope": lambda connection: connection.scope,
    "path": lambda connection: connection.scope["path"],
    "method": lambda connection: connection.scope.get("method"),
    "path_params": lambda connection: connection.path_params,
    "query_params": lambda connection: dict(connection.query_params),
    "headers": lambda connection: dict(connection.scope["headers"]),
    "authorization": lambda connection: connection.headers.get("authorization"),
}


class ProjectUser(Mapping[str, Any]):
    """The caller as the handler described them; fields are attributes and items."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {"is_authenticated": True, "display_name": fields["identity"], **fields}

    def __getattr__(self, name: str) -> Any:
        """A field that the handler returned."""
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(name)
        return fields[name]

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def permissions(self) -> Sequence[str]:
        """What the caller may do, for the project's handlers."""
        found: Sequence[str] = self._fields.get("permissions") or ()
        return found


def load_auth(target: AttributeTarget) -> Auth:
    """Import a project's `Auth` object.

    Raises:
        LoadError: It cannot be imported, or cannot identify anyone.
    """
    auth = import_target(target)
    if not isinstance(auth, Auth):
        raise LoadError(
            f"{target.text} is an object of type {type(auth).__name__}",
            hint="'auth.path' must name an object of type langgraph_sdk.Auth",
        )
    handler = authenticate_handler(auth)
    if handler is None:
        raise LoadError(
            f"{target.text} has no authentication handler", hint="add @auth.authenticate"
        )
    if unknown := set(inspect.signature(handler).parameters) - _ARGUMENTS.keys():
        raise LoadError(
            f"Unknown parameter of the handler of {target.text}: {min(unknown)}",
            hint=f"choose from {', '.join(_ARGUMENTS)}; the body is read after authentication",
        )
    return auth


class ProjectIdentity:
    """Identifies callers by the project's handler."""

    def __init__(self, auth: Auth) -> None:
        handler = authenticate_handler(auth)
        assert handler is not None  # noqa: S101  # checked by `load_auth`
        self._handler: Callable[..., Any] = handler
        self._names = tuple(inspect.signature(handler).parameters)

    async def identify(self, connection: HTTPConnection) -> Owner:
        """Identify the owner of a request.

        Raises:
            AccessDenied: The handler refused the caller for good.
            Unauthenticated: The handler refused the request, or returned no valid identity.
            IdentityUnavailable: The handler failed.
        """
        user = _user(await self._call(connection))
        connection.scope[USER_KEY] = user
        tenant = user.get("tenant", DEFAULT_TENANT)
        return Owner(tenant=_name(tenant, "tenant"), user=_name(user["identity"], "identity"))

    async def _call(self, connection: HTTPConnection) -> Any:
        arguments = {name: _ARGUMENTS[name](connection) for name in self._names}
        try:
            if inspect.iscoroutinefunction(self._handler):
                return await self._handler(**arguments)
            return await asyncio.to_thread(self._handler, **arguments)
        except (Auth.exceptions.HTTPException, HTTPException) as error:
            if error.status_code == HTTPStatus.FORBIDDEN:
                raise AccessDenied(str(error.detail)) from error
            raise Unauthenticated(str(error.detail), hint=_HINT) from error
        except AssertionError as error:
            raise Unauthenticated(str(error) or "Not authenticated", hint=_HINT) from error
        except Exception as error:  # the project's code may raise anything: nobody is let in
            _log.exception("The project's authentication handler failed")
            raise IdentityUnavailable(
                "The project's authentication failed", hint="see the log of the server"
            ) from error


def _user(found: Any) -> ProjectUser:
    """Convert what a handler may return: a name, a mapping or an object."""
    if isinstance(found, str):
        return ProjectUser({"identity": found})
    if isinstance(found, Mapping) and "identity" in found:
        return ProjectUser(found)
    if hasattr(found, "identity"):
        names = [name for name in dir(found) if not name.startswith("_")]
        fields = {name: getattr(found, name) for name in names}
        return ProjectUser({k: v for k, v in fields.items() if not callable(v)})
    raise Unauthenticated("The project's authentication returned no identity", hint=_HINT)


def _name(value: Any, field: str) -> str:
    is_name = isinstance(value, str) and bool(value.strip()) and value.isprintable()
    if not is_name or len(value) > _MAX_NAME:
        raise Unauthenticated(f"The {field} of the caller is not a valid name", hint=_HINT)
    return str(value)
