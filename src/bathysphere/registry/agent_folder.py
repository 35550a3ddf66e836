"""An agent as a folder: `agent.toml`, `prompt.md`, and optionally `skills/`, `subagents/`, Python.

Everything is read and checked when the folder is loaded; the spec is made when the models of the
settings are known.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.harness.skills import (
    SKILL_FILE,
    SKILLS_PATH,
    skill_problem,
    skills_in,
    with_skills,
)
from bathysphere.harness.spec import (
    GENERAL_PURPOSE,
    SUBAGENT_PROMPT,
    AgentSpec,
    SubagentSpec,
    Tool,
)
from bathysphere.harness.web_tools import WebAccess
from bathysphere.middleware.approvals import Approval
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.mcp import McpMiddleware
from bathysphere.models.settings import ModelSettings, subagent_key
from bathysphere.registry.agent_file import AgentSource, SubagentTable, read_agent_file, read_text
from bathysphere.registry.errors import LoadError
from bathysphere.registry.folder_tools import FolderTools, load_tools
from bathysphere.registry.targets import AGENT_FILE, FolderTarget, check_name
from bathysphere.tools.mcp.hub import McpHub
from bathysphere.tools.mcp.settings import VARIABLE

if TYPE_CHECKING:
    from bathysphere.models.resolve import Models

PROMPT = "prompt.md"
SKILLS = "skills"
SUBAGENTS = "subagents"

Layer = AgentMiddleware[Any, Any, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentFolder:
    """An agent folder that was read and checked."""

    source: AgentSource
    name: str
    prompt: str
    tools: FolderTools
    subagents: tuple[tuple[SubagentSpec, FolderTools | None], ...]
    skills: Path | None

    @property
    def description(self) -> str:
        """What the agent is for."""
        return self.source.content.description

    @property
    def uses_web(self) -> bool:
        """Whether one of its agents has tools for the web."""
        of_subagents = [tools for _, tools in self.subagents if tools is not None]
        return any(tools.web for tools in (self.tools, *of_subagents))

    @property
    def names_models(self) -> bool:
        """Whether the folder chooses models itself."""
        tables = (self.source.content.subagents or {}).values()
        chosen = self.source.content.models.model_dump(exclude_none=True)
        return bool(chosen) or any(table.model for table in tables)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The settings with the models that the folder chooses."""
        content = self.source.content
        chosen: dict[str, Any] = content.models.model_dump(exclude_none=True)
        tables = (content.subagents or {}).items()
        named = {subagent_key(name): table.model for name, table in tables if table.model}
        chosen["subagents"] = {**settings.subagents, **named}
        return settings.model_copy(update=chosen)

    def check_mcp(self, hub: McpHub | None) -> None:
        """Check that the process has the MCP servers that the folder names.

        Raises:
            LoadError: It has none, or not this one for this agent; the message names the line.
        """
        known = hub.config.for_agent(self.name) if hub is not None else ()
        for index, name in enumerate(self.source.content.mcp):
            if name not in known:
                where = f"{hub.config.file} for this agent" if hub else f"no file ({VARIABLE})"
                raise self.source.error(f"No MCP server '{name}' in {where}", "mcp", index)

    def spec(
        self,
        *,
        models: "Models",
        backend: BackendProtocol | None = None,
        reliability: tuple[Layer, ...] = (),
        web: WebAccess | None = None,
        mcp: McpHub | None = None,
    ) -> AgentSpec:
        """Describe the agent, without running it or reading the environment."""
        content = self.source.content
        web = web or WebAccess()
        if mcp is not None and content.mcp:
            reliability = (McpMiddleware(mcp, content.mcp), *reliability)
        questions = (
            [ClarifyMiddleware(max_questions=content.max_questions)] if self.tools.asks else []
        )
        return AgentSpec(
            name=self.name,
            description=self.description,
            model=models.main,
            subagent_model=models.subagent,
            summary_model=models.summary,
            prompt=self.prompt,
            tools=self.tools.tools(web),
            subagents=tuple(
                self._subagent(sub, None if tools is None else tools.tools(web), reliability)
                for sub, tools in self.subagents
            ),
            backend=self._files(backend or ScratchBackend()),
            middleware=(*questions, *reliability),
            approvals={name: _approval(value) for name, value in content.approvals.items()},
            approval_mode=content.approval_mode,
            flow="auto" if content.flow else None,
            limits=content.limits.limits(),
            skills=self._skill_paths(),
        )

    def _subagent(
        self, sub: SubagentSpec, tools: tuple[Tool, ...] | None, reliability: tuple[Layer, ...]
    ) -> SubagentSpec:
        return SubagentSpec(
            name=sub.name,
            description=sub.description,
            prompt=sub.prompt,
            tools=tools,
            middleware=reliability,
            skills=self._skill_paths(),
        )

    def _skill_paths(self) -> tuple[str, ...]:
        return (SKILLS_PATH,) if self.skills is not None else ()

    def _files(self, backend: BackendProtocol) -> BackendProtocol:
        if self.skills is None:
            return backend
        return with_skills(backend, self.skills)


def read_agent_folder(target: FolderTarget) -> AgentFolder:
    """Read and check an agent folder; its Python tools are imported.

    Raises:
        LoadError: Something in it is not valid; the message names the file and the line.
    """
    source = read_agent_file(target.folder / AGENT_FILE, label=target.label(AGENT_FILE))
    name = target.listed_name
    try:
        check_name(name, source.label)
    except LoadError as error:
        raise source.error(error.message, "name") from error
    return AgentFolder(
        source=source,
        name=name,
        prompt=_text(target, PROMPT),
        tools=load_tools(target, source, source.content.tools, "tools"),
        subagents=tuple(_subagents(target, source)),
        skills=_skills(target),
    )


def _subagents(
    target: FolderTarget, source: AgentSource
) -> list[tuple[SubagentSpec, FolderTools | None]]:
    """The subagents; without a table in the file, the general-purpose one."""
    tables = source.content.subagents
    prompts = {file.stem: file for file in sorted((target.folder / SUBAGENTS).glob("*.md"))}
    for name in prompts.keys() - (tables or {}).keys():
        label = target.label(f"{SUBAGENTS}/{name}.md")
        hint = f"add [subagents.{name}] with a description to {source.label}"
        raise LoadError(f"{label}: No subagent is named '{name}'", hint=hint)
    if tables is None:
        return [(GENERAL_PURPOSE, None)]
    return [_subagent(target, source, name, table) for name, table in tables.items()]


def _subagent(
    target: FolderTarget, source: AgentSource, name: str, table: SubagentTable
) -> tuple[SubagentSpec, FolderTools | None]:
    place = (SUBAGENTS, name)
    is_general = name == GENERAL_PURPOSE.name
    description = table.description or (GENERAL_PURPOSE.description if is_general else "")
    if not description:
        raise source.error(
            f"Subagent '{name}' needs a description: the agent selects subagents by it", *place
        )
    own = f"{SUBAGENTS}/{name}.md"
    has_file = (target.folder / own).is_file()
    if has_file and table.prompt is not None:
        problem = f"Subagent '{name}' has two prompts: this key and {target.label(own)}"
        raise source.error(problem, *place, "prompt")
    prompt = _text(target, own) if has_file else (table.prompt or SUBAGENT_PROMPT)
    tools = None
    if table.tools is not None:
        tools = load_tools(target, source, table.tools, *place, "tools")
        if tools.asks:
            raise source.error("Only the main agent can ask the person", *place, "tools")
    return SubagentSpec(name=name, description=description, prompt=prompt), tools


def _text(target: FolderTarget, name: str) -> str:
    label = target.label(name)
    text = read_text(target.folder / name, label=label).strip()
    if not text:
        raise LoadError(f"{label}:1: The prompt is empty", hint="write the prompt there")
    return text


def _skills(target: FolderTarget) -> Path | None:
    """The folder of skills, if it has any; each is checked, because loading skips a bad one."""
    folder = target.folder / SKILLS
    skills = skills_in(folder)
    for skill in skills:
        label = target.label(f"{SKILLS}/{skill.name}/{SKILL_FILE}")
        problem = skill_problem(skill.name, read_text(skill / SKILL_FILE, label=label))
        if problem is not None:
            raise LoadError(f"{label}:{problem.line}: {problem.message}", hint=problem.hint)
    return folder if skills else None


def _approval(value: Any) -> Approval:
    return value if isinstance(value, bool) else InterruptOnConfig(allowed_decisions=list(value))
