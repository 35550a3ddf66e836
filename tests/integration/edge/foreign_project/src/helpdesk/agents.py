"""A bare agent and a deep one, on scripted models."""

import os
from dataclasses import dataclass

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime, tool

from bathysphere.testing import ScriptedChatModel, calls, says

from .words import ASKED  # noqa: TID252  # projects do that


@dataclass
class Caller:
    """What a client may say."""

    language: str = "en"
    depth: int = 1


@tool
def look_up(word: str, runtime: ToolRuntime[Caller]) -> str:
    """Look up a word."""
    user = runtime.server_info.user.identity
    return f"{ASKED} {word} in {runtime.context.language} for {user}"


@tool
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


def _chat(messages):
    last = messages[-1]
    if last.type == "tool":
        return says(f"{os.environ['HELPDESK_GREETING']}: {last.text}")
    return calls("look_up", {"word": last.text}, id="call_1")


def _deep(messages):
    last = messages[-1]
    if last.type == "tool":
        return says(f"Done: {last.text}")
    return calls("remove", {"path": last.text}, id="call_1")


chat = create_agent(ScriptedChatModel(answer=_chat), tools=[look_up], context_schema=Caller)
deep = create_deep_agent(
    model=ScriptedChatModel(answer=_deep),
    tools=[remove],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"remove": True}, interrupt_mode="per_call")],
)
