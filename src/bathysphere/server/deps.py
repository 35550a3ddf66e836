"""What routes are given: the services, and the owner that the connection's identity stands for."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request

from bathysphere.engine.records import Owner
from bathysphere.server.errors import NotSupported
from bathysphere.server.pages import Pages
from bathysphere.server.research import Desk
from bathysphere.server.services import Services


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _owner(request: Request) -> Owner:
    """The one place where a request becomes an owner."""
    owner: Owner = await request.app.state.identify(request)
    return owner


async def _heartbeat(request: Request) -> float:
    seconds: float = request.app.state.heartbeat_seconds
    return seconds


async def _desk(request: Request) -> Desk:
    desk: Desk | None = request.app.state.desk
    if desk is None:
        raise NotSupported("this process has no research desk")
    return desk


async def _pages(request: Request) -> Pages:
    pages: Pages | None = request.app.state.pages
    if pages is None:
        raise NotSupported("this process fetches no pages")
    return pages


ServicesDep = Annotated[Services, Depends(_services)]
DeskDep = Annotated[Desk, Depends(_desk)]
PagesDep = Annotated[Pages, Depends(_pages)]
CurrentOwner = Annotated[Owner, Depends(_owner)]
Heartbeat = Annotated[float, Depends(_heartbeat)]
ThreadId = Annotated[UUID, Path(description="The thread.")]
RunId = Annotated[UUID, Path(description="The run.")]
