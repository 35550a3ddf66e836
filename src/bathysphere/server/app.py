"""The app: routes over the engine's services, with one way in for identities and errors."""

from typing import TypeGuard

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from bathysphere.server import errors
from bathysphere.server.identity import Identify, once
from bathysphere.server.models import Look
from bathysphere.server.pages import Pages
from bathysphere.server.research import Desk
from bathysphere.server.routes import (
    agent,
    assistants,
    model,
    models,
    pages,
    payments,
    protocol,
    research,
    runs,
    state,
    stateless,
    store,
    system,
    threads,
    verifier,
    workspaces,
)
from bathysphere.server.services import Services
from bathysphere.server.static_files import StaticFiles

ROUTERS = (
    system.router,
    verifier.router,
    assistants.router,
    models.router,
    threads.router,
    state.router,
    protocol.router,
    runs.router,
    stateless.router,
    store.router,
    payments.router,
    workspaces.router,
    agent.router,
    research.router,
    model.router,
    pages.router,
)


def create_app(
    *,
    services: Services,
    identify: Identify,
    heartbeat_seconds: float = 10.0,
    desk: Desk | None = None,
    look_at_models: Look | None = None,
    page_fetcher: Pages | None = None,
) -> FastAPI:
    """The HTTP face of an API process.

    Args:
        services: The engine's parts, open as long as the app is used.
        identify: From a connection to the owner of what it may touch.
        heartbeat_seconds: How long a stream may be silent before it carries a comment.
        desk: What hands out research reports and loads the model, where this process does.
        look_at_models: Tells which models answer here; nothing is told without it.
        page_fetcher: Fetches pages for people, where this process does.
    """
    app = describe_app()
    app.state.services = services
    app.state.identify = once(identify)
    app.state.heartbeat_seconds = heartbeat_seconds
    app.state.desk = desk
    app.state.look_at_models = look_at_models
    app.state.pages = page_fetcher
    app.router.default = StaticFiles(app.router.default, routes=_first_segments())
    return app


def describe_app() -> FastAPI:
    """The app without anything behind it: its routes, schemas and errors."""
    app = FastAPI(
        title="Bathysphere",
        version="1",
        summary="Durable runs of agents, for any LangGraph client.",
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
    )
    errors.install(app)
    for router in ROUTERS:
        app.include_router(router)
    return app


def _first_segments() -> frozenset[str]:
    paths = [route.path for router in ROUTERS for route in router.routes if _has_path(route)]
    return frozenset(path.split("/")[1] for path in paths)


def _has_path(route: BaseRoute) -> TypeGuard[Route]:
    return isinstance(route, Route)


def _operation_id(route: APIRoute) -> str:
    tag = str(route.tags[0]) if route.tags else "default"
    return f"{tag}-{route.name}".replace("_", "-")
