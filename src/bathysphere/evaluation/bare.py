"""Bare deepagents, for comparison: `create_deep_agent` as its users call it, without our layers."""

from deepagents import create_deep_agent
from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import ToolCallRequest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from bathysphere.evaluation.case_tools import GATED, CaseTools
from bathysphere.harness.build import Graph
from bathysphere.models.resolve import Models


def bare_agent(models: Models, tools: CaseTools) -> Graph:
    """`create_deep_agent` with the same tools, and the same calls waiting for approval."""
    gated: dict[str, bool | InterruptOnConfig] = dict.fromkeys(("edit_file", "delete"), True)
    gated |= {name: True for name in GATED if name in tools.case.tools}
    gated["write_file"] = InterruptOnConfig(
        allowed_decisions=["approve", "reject"], when=_replaces_file
    )
    return create_deep_agent(
        models.main,
        tools.tools(),
        interrupt_on=gated,
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )


def _replaces_file(request: ToolCallRequest) -> bool:
    return request.tool_call["args"].get("file_path") in (request.state.get("files") or {})
