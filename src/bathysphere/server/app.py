"""The FastAPI application: its routes, shared state and error handlers."""

import re
from typing import TypeGuard

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from bathysphere.middleware.memories.notes import MemoryMode
from bathysphere.server import errors
from bathysphere.server.administration import routes as administration_routes
from bathysphere.server.administration.service import Administration
from bathysphere.server.custom_routes import CustomRoutes
from bathysphere.server.help_files import HelpFiles
from bathysphere.server.identity import Identify, once
from bathysphere.server.identity.sign_in import IssuerOffer
from bathysphere.server.langgraph_api.strict_json import Authorization
from bathysphere.server.mcp.endpoint import McpEndpoint
from bathysphere.server.models import loading_routes as model
from bathysphere.server.models import routes as models
from bathysphere.server.models import setup_routes
from bathysphere.server.models.catalog import ListModels
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.pages import Pages
from bathysphere.server.payments import routes as payments
from bathysphere.server.process.services import Services
from bathysphere.server.research import routes as research
from bathysphere.server.research.service import ResearchService
from bathysphere.server.routes import (
    agent,
    assistants,
    conversations,
    crons,
    mcp,
    mcp_servers,
    pages,
    protocol,
    push,
    runs,
    state,
    stateless,
    store,
    system,
    threads,
    usage,
    verifier,
)
from bathysphere.server.routes import memories as memory_routes
from bathysphere.server.static_files import StaticFiles
from bathysphere.server.workspaces import routes as workspaces
from bathysphere.tools.mcp.hub import McpHub

ROUTERS = (
    system.router,
    verifier.router,
    assistants.router,
    models.router,
    conversations.shared_router,
    conversations.router,  # before threads: its paths are not thread ids
    threads.router,
    state.router,
    protocol.router,
    crons.router,
    runs.router,
    stateless.router,
    store.router,
    memory_routes.router,
    push.router,
    usage.router,
    payments.router,
    workspaces.router,
    agent.router,
    research.router,
    model.router,
    pages.router,
    mcp.router,
    mcp_servers.router,
)


def create_app(
    *,
    services: Services,
    identify: Identify,
    heartbeat_seconds: float = 10.0,
    stream_seconds: float = 3600.0,
    research: ResearchService | None = None,
    list_models: ListModels | None = None,
    model_setup: ModelSetup | None = None,
    page_fetcher: Pages | None = None,
    mcp_hub: McpHub | None = None,
    custom_app: Starlette | None = None,
    authorization: Authorization | None = None,
    memories: MemoryMode = "opt-in",
    sign_in: IssuerOffer | None = None,
    administration: Administration | None = None,
) -> FastAPI:
    """Create the FastAPI app of an API process.

    Args:
        services: The engine's components; they must stay open while the app is in use.
        identify: Maps a connection to the owner whose data it may access.
        heartbeat_seconds: How long a stream may be silent before a comment is sent, and how often
            its caller is identified again.
        stream_seconds: Maximum duration of a stream; the client then has to reconnect.
        research: Serves research reports and loads the model; None disables both.
        list_models: Lists the configured models; without it the list is empty.
        model_setup: Lets the one person at this machine choose the model; without it, its routes
            do not exist.
        page_fetcher: Fetches web pages for users; None disables it.
        mcp_hub: The MCP servers whose tools agents use.
        custom_app: The operator's own routes; whoever opens the app runs its lifespan.
        authorization: Decides about each request beside its owner; None allows what is the owner's.
        memories: Whether agents keep notes about people.
        sign_in: Where people sign in with the browser; None if they use keys, or nothing.
        administration: For administrators; without it, its routes do not exist.
    """
    app = describe_app()
    app.state.services = services
    app.state.identify = once(identify)
    app.state.heartbeat_seconds = heartbeat_seconds
    app.state.stream_seconds = stream_seconds
    app.state.research = research
    app.state.list_models = list_models
    app.state.model_setup = model_setup
    app.state.pages = page_fetcher
    app.state.memories = memories
    app.state.sign_in = sign_in
    app.state.authorization = authorization
    app.state.mcp_servers = mcp_hub
    app.state.mcp = McpEndpoint(services)
    app.state.administration = administration
    if administration is not None:
        app.include_router(administration_routes.router)
    if model_setup is not None:
        app.include_router(setup_routes.router)
    app.router.default = HelpFiles(StaticFiles(app.router.default, routes=first_segments()))
    if custom_app is not None:
        app.router.default = CustomRoutes(custom_app, app.router.default, identify=identify)
    return app


def describe_app() -> FastAPI:
    """Create the app without services: routes, schemas and error handlers only."""
    app = FastAPI(
        title="Bathysphere",
        version="1",
        summary="Durable runs of agents, for any LangGraph client.",
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    errors.install(app)
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute):
                route.summary = _summary(route.description)
        app.include_router(router)
    return app


def first_segments() -> frozenset[str]:
    """First path segments of all routes, which the browser app must not shadow."""
    routers = (*ROUTERS, administration_routes.router)
    paths = [route.path for router in routers for route in router.routes if _has_path(route)]
    return frozenset(path.split("/")[1] for path in paths)


def _has_path(route: BaseRoute) -> TypeGuard[Route]:
    return isinstance(route, Route)


def _summary(description: str) -> str:
    """The first clause of an operation's description, without the full stop."""
    return (
        re.split(r"[.;:](?:\s|$)", description, maxsplit=1)[0].replace("\n", " ").replace("`", "")
    )


def _operation_id(route: APIRoute) -> str:
    tag = str(route.tags[0]) if route.tags else "default"
    return f"{tag}-{route.name}".replace("_", "-")
