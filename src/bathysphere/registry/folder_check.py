"""Check what an agent folder describes, by building it once with the scripted tour as its model."""

from bathysphere.core.errors import ConfigError
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.harness.stack import Agent, main_agent, subagent
from bathysphere.models.demo.model import DemoTourModel
from bathysphere.models.resolve import Models
from bathysphere.models.tool_names import tool_name
from bathysphere.registry.agent_file import suggestion
from bathysphere.registry.agent_folder import AgentFolder
from bathysphere.registry.errors import load_failure


def check_agent_folder(folder: AgentFolder) -> None:
    """Build the agent, and check that it has the tools that need approval.

    Raises:
        LoadError: It cannot be built, or an approval names a tool that it does not have.
    """
    model = DemoTourModel()
    models = Models(main=model, subagent=model, summary=model, audit=model)
    spec = folder.spec(models=models)
    try:
        build(spec)
    except (ConfigError, ValueError) as error:
        raise load_failure(folder.source.label, error) from error
    known = _tool_names(spec)
    for name in folder.source.content.approvals:
        if name not in known:  # an approval that is never asked for would be a gap
            hint = suggestion(name, known, "its tools are")
            raise folder.source.error(f"Unknown tool '{name}'; {hint}", "approvals", name)


def _tool_names(spec: AgentSpec) -> list[str]:
    subagents = [sub for sub in spec.subagents if isinstance(sub, SubagentSpec)]
    agents: list[Agent] = [main_agent(spec), *(subagent(spec, sub) for sub in subagents)]
    names = {tool_name(tool) for agent in agents for tool in agent.tools}
    for agent in agents:
        for layer in agent.stack.layers:
            names |= {tool.name for tool in getattr(layer, "tools", ())}
    return sorted(names | ({"task"} if spec.subagents else set()))
