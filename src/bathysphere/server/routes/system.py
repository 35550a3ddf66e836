"""Health and version endpoints."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter

router = APIRouter(tags=["system"])


@router.get("/ok")
async def ok() -> dict[str, bool]:
    """Check that the process responds."""
    return {"ok": True}


@router.get("/info")
async def info() -> dict[str, Any]:
    """Versions and features of this server, in LangGraph's format."""
    return {
        "version": version("bathysphere"),
        "langgraph_py_version": version("langgraph"),
        "flags": {"assistants": True, "crons": False, "langsmith": False, "store": True},
        "protocol": {"v2": {"sse": True, "websocket": False}},
    }
