"""The MCP servers that a command uses: of the file that the settings name, or of this folder."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bathysphere.tools.mcp.hub import McpHub


def configured_hub() -> "McpHub | None":
    """The servers of the file that `BATHYSPHERE_MCP_CONFIG` names; None without it.

    Raises:
        ConfigError: The file is not valid.
    """
    from bathysphere.tools.mcp.settings import McpSettings

    return _hub(McpSettings.from_environment().config)


def local_hub() -> "McpHub | None":
    """The same, or the servers of `./mcp.json`, for commands that a person runs locally.

    Raises:
        ConfigError: The file is not valid.
    """
    from bathysphere.tools.mcp.settings import McpSettings, local_config_file

    if (named := McpSettings.from_environment().config) is not None:
        return _hub(named)
    found = _hub(local_config_file())
    if found is not None and found.config.servers:
        names = ", ".join(found.config.servers)
        print(f"MCP servers from ./{found.config.file}: {names}.", file=sys.stderr)
    return found


def _hub(file: "Path | None") -> "McpHub | None":
    if file is None:
        return None
    from bathysphere.tools.mcp.config import read_config
    from bathysphere.tools.mcp.hub import McpHub

    return McpHub(read_config(file, os.environ))
