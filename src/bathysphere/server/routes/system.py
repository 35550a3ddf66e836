"""Is it there, and what is it."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter

router = APIRouter(tags=["system"])


@router.get("/ok")
async def ok() -> dict[str, bool]:
    """Whether the process answers."""
    return {"ok": True}


@router.get("/info")
async def info() -> dict[str, Any]:
    """What this server is, as LangGraph's clients ask for it."""
    return {
        "version": version("bathysphere"),
        "langgraph_py_version": version("langgraph"),
        "flags": {"assistants": True, "crons": False, "langsmith": False, "store": True},
        "protocol": {"v2": {"sse": True, "websocket": False}},
    }
