"""Flow control of a spec: the policy with the harness's own tools, and checks of its declarations.

A declaration that names a tool or an argument that does not exist would leave the real one without
its rule, so it is an error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deepagents.backends import CompositeBackend
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from bathysphere.backends.read_only import ReadOnlyFolder
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.errors import ConfigError
from bathysphere.flow import FlowPolicy, ToolFlow
from bathysphere.flow.declarations import UNDECLARED
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, SubagentSpec, Tool
from bathysphere.middleware.flow.defaults import FILE_TOOLS, OWN_TOOLS, SCRATCH_TOOLS
from bathysphere.models.declared_tool import DeclaredTool
from bathysphere.models.tool_names import tool_name


def policy_of(spec: AgentSpec) -> FlowPolicy | None:
    """The flow policy of a spec; None if it has no flow control.

    By default an agent has it if one of its tree has tools of MCP servers or for the web, unless
    approvals are batched, whose questions cannot say where values came from.

    Raises:
        ConfigError: Batched approvals and a policy: a call would be asked about twice.
    """
    is_batched = spec.approval_mode == "batched"
    if isinstance(spec.flow, str):
        return FlowPolicy() if not is_batched and _reaches_out(spec) else None
    if spec.flow is not None and is_batched:
        raise ConfigError(
            f"Agent '{spec.name}' combines flow control with batched approvals",
            hint="use approval_mode='per_call'",
        )
    return spec.flow


def _reaches_out(spec: AgentSpec) -> bool:
    """Whether an agent of the tree has tools of MCP servers or for the web."""
    subs = [sub for sub in spec.subagents if isinstance(sub, SubagentSpec)]
    layers = [*spec.middleware, *(layer for sub in subs for layer in sub.middleware)]
    tools = [*spec.tools, *(tool for sub in subs for tool in sub.tools or ())]
    return any(getattr(layer, "servers", ()) for layer in layers) or any(
        isinstance(tool, DeclaredTool) and tool.flow.is_gated for tool in tools
    )


def flow_options(
    spec: AgentSpec, tools: Iterable[Tool], own: Iterable[Any], *, is_subagent: bool = False
) -> dict[str, Any] | None:
    """The arguments of an agent's Flow layer; None if it has none.

    Args:
        spec: The spec.
        tools: The agent's tools.
        own: Its own layers.
        is_subagent: Whether it is a subagent.
    """
    policy = policy_of(spec)
    if policy is None:
        return None
    opaque = [sub.name for sub in spec.subagents if isinstance(sub, CompiledSubagent)]
    of_layers = [tool for layer in own for tool in getattr(layer, "tools", ())]
    resolved = _resolved(spec, policy, [*tools, *of_layers])
    return {"policy": resolved, "opaque": opaque, "is_subagent": is_subagent}


def check_flow(spec: AgentSpec, tools: Iterable[Tool], servers: Iterable[str] = ()) -> None:
    """Check that each declaration is for a tool and its arguments.

    Args:
        spec: The spec.
        tools: The tools of all its agents, with those of their layers.
        servers: Names of servers whose tools are known only later (`server__tool`).

    Raises:
        ConfigError: A declared tool or argument does not exist.
    """
    policy = policy_of(spec)
    if policy is None:
        return
    known = {tool_name(tool): tool for tool in tools}
    later = tuple(f"{server}__" for server in servers)
    for name, declared in policy.tools.items():
        if name in known:
            _check_arguments(name, declared, known[name])
        elif not name.startswith(later):
            raise ConfigError(
                f"Flow declares an unknown tool '{name}'",
                hint=f"tools of '{spec.name}': {', '.join(sorted(known))}",
            )


def _check_arguments(name: str, declared: ToolFlow, tool: Tool) -> None:
    arguments = _arguments(tool)
    if arguments is None:
        return
    keys = declared.finds.keys if declared.finds else ()
    unknown = sorted({*declared.arguments, *keys} - arguments)
    if unknown:
        raise ConfigError(
            f"Flow declares unknown arguments of '{name}': {', '.join(unknown)}",
            hint=f"its arguments: {', '.join(sorted(arguments)) or 'none'}",
        )


def _resolved(spec: AgentSpec, policy: FlowPolicy, tools: Iterable[Tool]) -> FlowPolicy:
    """The policy with all tools that are known now; a tool that has effects acts."""
    own: dict[str, ToolFlow] = {**OWN_TOOLS, **FILE_TOOLS}
    if _has_only_scratch_files(spec):
        own |= SCRATCH_TOOLS
    declared = {**own, **policy.tools}
    for tool in tools:
        name = tool_name(tool)
        known = declared.get(name, UNDECLARED)  # named, so that it can be planned
        if isinstance(tool, DeclaredTool) and name not in policy.tools:
            known = tool.flow
        declared[name] = replace(known, acts=True) if _has_effect(tool) else known
    return replace(policy, tools=declared)


def _has_only_scratch_files(spec: AgentSpec) -> bool:
    """Whether all files that the agent can write are its scratch files.

    Files that later prompts are made of are more than that, unless they are read-only.
    """
    files = spec.backend
    if isinstance(files, CompositeBackend) and all(
        isinstance(folder, ReadOnlyFolder) for folder in files.routes.values()
    ):
        return isinstance(files.default, ScratchBackend) and not spec.memory
    return isinstance(files, ScratchBackend) and not (spec.memory or spec.skills)


def _has_effect(tool: Tool) -> bool:
    return isinstance(tool, BaseTool) and bool((tool.metadata or {}).get("effect"))


def _arguments(tool: Tool) -> set[str] | None:
    """The names of a tool's arguments; None if a provider runs it."""
    if isinstance(tool, dict):
        function: Mapping[str, Any] = tool.get("function", tool)
        schema = function.get("parameters") or function.get("input_schema")
        return set(schema.get("properties", {})) if schema else None
    made: BaseTool = tool if isinstance(tool, BaseTool) else make_tool(tool)
    return set(made.args)
