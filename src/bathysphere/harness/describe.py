"""Describe a spec or a graph as text, for `bathysphere agents NAME`."""

from collections.abc import Sequence
from typing import Any, get_type_hints

from langchain_core.language_models import BaseChatModel
from langgraph.pregel import Pregel

from bathysphere.core.usage import Limits
from bathysphere.flow.declarations import does
from bathysphere.harness.flow import policy_of
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, GraphSpec, Spec
from bathysphere.harness.stack import Agent, Layer, layer_name, main_agent, subagent
from bathysphere.models.tool_names import tool_name

WIDTH = 36


def describe(
    spec: Spec | Pregel[Any, Any, Any, Any], *, name: str = "", about: str | None = None
) -> str:
    """Describe an agent: its layers in order, or the nodes of its graph.

    Args:
        spec: The spec, or a graph that has none.
        name: The name of such a graph.
        about: Its description.
    """
    if isinstance(spec, Pregel):
        return _describe_compiled(spec, name, about)
    return _describe_graph(spec) if isinstance(spec, GraphSpec) else _describe_agent(spec)


def _describe_compiled(graph: Pregel[Any, Any, Any, Any], name: str, about: str | None) -> str:
    drawn = graph.get_graph()
    targets: dict[str, list[str]] = {}
    for edge in drawn.edges:
        targets.setdefault(edge.source, []).append(edge.target)
    lines = [f"agent {name}", *([f"  {about}"] if about else [])]
    if graph.context_schema is not None:
        lines.append(f"  context    {', '.join(get_type_hints(graph.context_schema))}")
    nodes = [node for node in drawn.nodes if not node.startswith("__")]
    lines += ["", "compiled graph:"]
    return "\n".join(
        [*lines, *(f"  {node:<{WIDTH}}to {', '.join(targets.get(node, []))}" for node in nodes)]
    )


def _describe_agent(spec: AgentSpec) -> str:
    lines = [f"agent {spec.name}"]
    lines += [f"  {spec.description}"] if spec.description else []
    lines += [
        f"  backend    {type(spec.backend).__name__}",
        f"  approvals  {', '.join(sorted(spec.approvals)) or 'none'}",
        f"  limits     {_limits(spec.limits)}",
        *_flow(spec),
        *_agent(main_agent(spec), "main agent", subagents=[sub.name for sub in spec.subagents]),
    ]
    for sub in spec.subagents:
        if isinstance(sub, CompiledSubagent):
            lines += ["", f"subagent {sub.name} (precompiled)"]
        else:
            lines += _agent(subagent(spec, sub), f"subagent {sub.name}")
    return "\n".join(lines)


def _flow(spec: AgentSpec) -> list[str]:
    """What each declared tool does."""
    policy = policy_of(spec)
    if policy is None:
        return []
    planner = "a planning call per run" if policy.planner == "apart" else "no plan"
    lines = [f"  flow       {planner}; unplanned calls: {policy.unplanned}"]
    return [*lines, *(f"    {name:<{WIDTH}}{does(flow)}" for name, flow in policy.tools.items())]


def _describe_graph(spec: GraphSpec) -> str:
    graph = spec.graph()
    targets: dict[str, list[str]] = {}
    for start, end in sorted(graph.edges):
        targets.setdefault(start, []).append(end)
    for start, branches in graph.branches.items():
        for branch in branches.values():
            targets.setdefault(start, []).extend(sorted((branch.ends or {}).values()))
    lines = [f"agent {spec.name}"]
    lines += [f"  {spec.description}"] if spec.description else []
    lines += ["", "custom graph:"]
    nodes = [name for name in graph.nodes if not name.startswith("__")]
    lines += [f"  {name:<{WIDTH}}to {', '.join(targets.get(name, []))}" for name in nodes]
    return "\n".join(lines)


def _agent(agent: Agent, title: str, subagents: Sequence[str] = ()) -> list[str]:
    tools = ", ".join(tool_name(tool) for tool in agent.tools)
    lines = ["", title, f"  model      {model_name(agent.model)}"]
    lines += [f"  tools      {tools or 'only those of the layers'}"]
    lines += [f"  subagents  {', '.join(subagents)}"] if subagents else []
    return [*lines, "  layers, outermost first:", *map(_layer, agent.stack.layers)]


def _layer(layer: Layer) -> str:
    purpose = (type(layer).__doc__ or "").strip().splitlines()[:1]
    return f"    {layer_name(layer):<{WIDTH}}{''.join(purpose)}".rstrip()


def model_name(model: BaseChatModel) -> str:
    """A model's class and name, if it has one."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return f"{type(model).__name__} {name}" if isinstance(name, str) else type(model).__name__


def _limits(limits: Limits) -> str:
    named = {name: getattr(limits, name) for name in limits.__slots__}
    return ", ".join(f"{name} {value:g}" for name, value in named.items() if value is not None)
