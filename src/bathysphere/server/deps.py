"""FastAPI dependencies of the routes: the services and the caller's owner."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Path, Request

from bathysphere.core.errors import NotAllowed
from bathysphere.core.identity import Owner
from bathysphere.engine.crons.records import Grant
from bathysphere.middleware.memories.notes import MemoryMode
from bathysphere.server.asgi.admission import CHARGE_KEY
from bathysphere.server.errors import NotSupported
from bathysphere.server.identity import Unauthenticated, grant_of, identify_again, roles_of
from bathysphere.server.identity.identify import ADMIN
from bathysphere.server.langgraph_api.idempotency import HEADER, MAX_LENGTH, RequestKey
from bathysphere.server.langgraph_api.project_rules import RULES_KEY
from bathysphere.server.pages import Pages
from bathysphere.server.process.services import Services
from bathysphere.server.research.service import ResearchService
from bathysphere.server.sse import StreamRules


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _owner(request: Request) -> Owner:
    """Identify the owner of a request. Routes have no other way to get one."""
    owner: Owner = await request.app.state.identify(request)
    return owner


async def require_admin(request: Request, owner: Annotated[Owner, Depends(_owner)]) -> Owner:
    """The owner, if authentication found that they are an administrator."""
    if ADMIN not in roles_of(request):
        raise NotAllowed("This needs an administrator", hint="see BATHYSPHERE_OIDC_ADMIN_CLAIM")
    return owner


async def _roles(request: Request, _: Annotated[Owner, Depends(_owner)]) -> frozenset[str]:
    return roles_of(request)


async def _request_key(
    request: Request,
    owner: Annotated[Owner, Depends(_owner)],
    key: Annotated[
        str | None,
        Header(
            alias=HEADER,
            min_length=1,
            max_length=MAX_LENGTH,
            description="Any text, new for every request: sent again, it finds the same run.",
        ),
    ] = None,
) -> RequestKey:
    return RequestKey(owner=owner, key=key, rules=request.scope.get(RULES_KEY))


async def _grant(request: Request) -> Grant:
    await _owner(request)
    return grant_of(request)


async def _charge(request: Request) -> Callable[[int], Awaitable[None]]:
    charge: Callable[[int], Awaitable[None]] = request.scope.get(CHARGE_KEY, _charge_nothing)
    return charge


async def _charge_nothing(count: int) -> None:
    """Charge nothing: rate limits are off."""


async def _stream_rules(request: Request) -> StreamRules:
    """Rules of a stream, which identify its caller again while it is open."""
    owner = await _owner(request)
    services = await _services(request)
    workspaces, residences = services.workspaces, services.residences
    before = frozenset(workspaces.names(owner)) if workspaces is not None else frozenset()

    async def check() -> None:
        if await identify_again(request.app.state.identify, request) != owner:
            raise Unauthenticated("The credential now belongs to another identity")
        if workspaces is not None and not before <= set(workspaces.names(owner)):
            raise Unauthenticated("The identity was removed from a workspace")

    return StreamRules(
        heartbeat_seconds=request.app.state.heartbeat_seconds,
        max_seconds=request.app.state.stream_seconds,
        check=check,
        until_left=partial(residences.until_left, owner.tenant) if residences else None,
    )


async def _research(request: Request) -> ResearchService:
    research: ResearchService | None = request.app.state.research
    if research is None:
        raise NotSupported("Research is disabled on this server")
    return research


async def _memory_mode(request: Request) -> MemoryMode:
    mode: MemoryMode = request.app.state.memories
    return mode


async def _pages(request: Request) -> Pages:
    pages: Pages | None = request.app.state.pages
    if pages is None:
        raise NotSupported("Page fetching is disabled on this server")
    return pages


ServicesDep = Annotated[Services, Depends(_services)]
ResearchDep = Annotated[ResearchService, Depends(_research)]
MemoryModeDep = Annotated[MemoryMode, Depends(_memory_mode)]
PagesDep = Annotated[Pages, Depends(_pages)]
CurrentOwner = Annotated[Owner, Depends(_owner)]
CurrentAdmin = Annotated[Owner, Depends(require_admin)]
"""The caller's owner; everybody but administrators gets a 403."""
CurrentRoles = Annotated[frozenset[str], Depends(_roles)]
Key = Annotated[RequestKey, Depends(_request_key)]
"""The caller's owner, with the key of the request."""
CurrentGrant = Annotated[Grant, Depends(_grant)]
Charge = Annotated[Callable[[int], Awaitable[None]], Depends(_charge)]
"""Takes additional rate limit tokens, for a request that counts as several."""
Streaming = Annotated[StreamRules, Depends(_stream_rules)]
ThreadId = Annotated[UUID, Path(description="ID of the thread.")]
RunId = Annotated[UUID, Path(description="ID of the run.")]
