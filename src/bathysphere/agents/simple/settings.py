"""Settings of the simple agent, read from `BATHYSPHERE_SIMPLE_…` once at startup."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.agents.simple.agent import SimpleConfig
from bathysphere.core.errors import ConfigError, missing_extra
from bathysphere.core.settings import invalid_settings
from bathysphere.harness.skills import SKILL_FILE, skill_problem, skills_in
from bathysphere.harness.web_tools import FETCH_PAGE, WEB_TOOLS, WebAccess
from bathysphere.tools.mcp.hub import McpHub

PREFIX = "BATHYSPHERE_SIMPLE_"


class SimpleSettings(BaseSettings):
    """Settings of the simple agent."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    web: Literal["off", "ask", "on"] = Field(
        default="off",
        description="Tools for the web: none, each call after approval, or without approval.",
    )

    skills: Path | None = Field(
        default=None, description="A folder of skills: one folder each, with a SKILL.md."
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; an invalid value is a `ConfigError`."""
        try:
            return cls()
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/agents.md") from error

    def config(self, access: WebAccess, *, mcp: McpHub | None = None) -> SimpleConfig:
        """The agent's configuration.

        Args:
            access: How agents of this process reach the web.
            mcp: The MCP servers of this process.

        Raises:
            ConfigError: The tools for the web are on, but their extra is not installed; or the
                folder of skills, or one of them, cannot be used.
        """
        default = SimpleConfig(mcp=mcp, skills=_checked(self.skills))
        if self.web == "off":
            return default
        if find_spec("trafilatura") is None:
            raise missing_extra(FETCH_PAGE, "research")
        gated = WEB_TOOLS if self.web == "ask" else ()
        return replace(default, web=access, approvals=(*default.approvals, *gated))


def _checked(folder: Path | None) -> Path | None:
    """The folder of skills; an invalid skill is an error, as it would be skipped silently."""
    if folder is None:
        return None
    folder = folder.expanduser().resolve()
    hint = f"change or unset {PREFIX}SKILLS"
    if not folder.is_dir() or not (skills := skills_in(folder)):
        what = "Not a folder of skills" if folder.is_dir() else "Folder not found"
        raise ConfigError(f"{what}: {folder}", hint=hint)
    for skill in skills:
        path = skill / SKILL_FILE
        try:
            problem = skill_problem(skill.name, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"Cannot read {path}", hint=hint) from error
        if problem is not None:
            raise ConfigError(f"{path}:{problem.line}: {problem.message}", hint=problem.hint)
    return folder
