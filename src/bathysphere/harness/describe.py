"""A specification in words: what `spec.describe()` prints."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from bathysphere.core.usage import Limits
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, GraphSpec
from bathysphere.harness.stack import Agent, Layer, layer_name, main_agent, subagent, tool_name

WIDTH = 36


def describe(spec: AgentSpec) -> str:
    """The agent's parts, then every layer of the main agent and of each subagent, in order."""
    lines = [f"agent {spec.name}"]
    lines += [f"  {spec.description}"] if spec.description else []
    lines += [
        f"  backend    {type(spec.backend).__name__}",
        f"  approvals  {', '.join(sorted(spec.approvals)) or 'none'}",
        f"  limits     {_limits(spec.limits)}",
        *_agent(main_agent(spec), "main agent", sends=[sub.name for sub in spec.subagents]),
    ]
    for sub in spec.subagents:
        if isinstance(sub, CompiledSubagent):
            lines += ["", f"subagent {sub.name} (compiled elsewhere)"]
        else:
            lines += _agent(subagent(spec, sub), f"subagent {sub.name}")
    return "\n".join(lines)


def describe_graph(spec: GraphSpec) -> str:
    """The nodes of the agent's own graph, and where each may lead."""
    graph = spec.graph()
    leads: dict[str, list[str]] = {}
    for start, end in sorted(graph.edges):
        leads.setdefault(start, []).append(end)
    for start, branches in graph.branches.items():
        for branch in branches.values():
            leads.setdefault(start, []).extend(sorted((branch.ends or {}).values()))
    lines = [f"agent {spec.name}"]
    lines += [f"  {spec.description}"] if spec.description else []
    lines += ["", "a graph of its own:"]
    nodes = [name for name in graph.nodes if not name.startswith("__")]
    lines += [f"  {name:<{WIDTH}}to {', '.join(leads.get(name, []))}" for name in nodes]
    return "\n".join(lines)


def _agent(agent: Agent, title: str, sends: Sequence[str] = ()) -> list[str]:
    tools = ", ".join(tool_name(tool) for tool in agent.tools)
    lines = ["", title, f"  model      {model_name(agent.model)}"]
    lines += [f"  tools      {tools or 'only those of its layers'}"]
    lines += [f"  sends out  {', '.join(sends)}"] if sends else []
    return [*lines, "  layers, outermost first:", *map(_layer, agent.stack.layers)]


def _layer(layer: Layer) -> str:
    purpose = (type(layer).__doc__ or "").strip().splitlines()[:1]
    return f"    {layer_name(layer):<{WIDTH}}{''.join(purpose)}".rstrip()


def model_name(model: BaseChatModel) -> str:
    """A model's class and, where it has one, its name."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return f"{type(model).__name__} {name}" if isinstance(name, str) else type(model).__name__


def _limits(limits: Limits) -> str:
    named = {name: getattr(limits, name) for name in limits.__slots__}
    return ", ".join(f"{name} {value:g}" for name, value in named.items() if value is not None)
