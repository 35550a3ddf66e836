"""Health, version and description of the API."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from bathysphere.server.api_docs import content_policy, render_docs
from bathysphere.server.deps import CurrentOwner
from bathysphere.server.identity.sign_in import IssuerOffer

router = APIRouter(tags=["system"])
_HOST_IDS = ("project_id", "host_revision_id", "revision_id", "tenant_id")
"""Ids of a hosting service, which clients look for."""


@router.get("/ok")
async def ok() -> dict[str, Any]:
    """Check that the process responds."""
    return {"ok": True, "services": {}}


@router.get("/info")
async def info() -> dict[str, Any]:
    """Versions and features of this server, in LangGraph's format."""
    return {
        "version": version("bathysphere"),
        "langgraph_py_version": version("langgraph"),
        "host": {"kind": "self-hosted", **dict.fromkeys(_HOST_IDS)},
        "flags": {"assistants": True, "crons": True, "langsmith": False, "store": True},
        "protocol": {"v2": {"sse": True, "websocket": False}},
    }


@router.get("/sign-in")
async def sign_in(request: Request) -> dict[str, Any]:
    """How people sign in to this server; needs no authentication and has no secrets."""
    offer: IssuerOffer | None = request.app.state.sign_in
    return {"issuer": offer.as_json() if offer is not None else None}


@router.get("/docs", response_class=HTMLResponse)
async def docs(request: Request, _: CurrentOwner) -> HTMLResponse:
    """The API as a page."""
    headers = {"content-security-policy": content_policy()}
    return HTMLResponse(render_docs(request.app.openapi()), headers=headers)
