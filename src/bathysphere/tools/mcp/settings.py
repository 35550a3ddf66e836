"""Which `mcp.json` a process uses: `BATHYSPHERE_MCP_CONFIG`."""

from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.core.settings import invalid_settings
from bathysphere.tools.mcp.config import FILE

PREFIX = "BATHYSPHERE_MCP_"
VARIABLE = f"{PREFIX}CONFIG"


class McpSettings(BaseSettings):
    """Settings of MCP servers."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    config: Path | None = Field(
        default=None, description="The mcp.json with the MCP servers of agents; default: none."
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; an invalid value is a `ConfigError`."""
        try:
            return cls()
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/mcp.md") from error


def local_config_file() -> Path | None:
    """Return the `mcp.json` of the working directory, if there is one.

    For commands that a person runs for themselves. A server serves others, and uses only the file
    that its settings name.
    """
    path = Path(FILE)
    return path if path.is_file() else None
