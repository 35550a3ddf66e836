"""`mcp.json`: which MCP servers there are, in the format that other MCP clients use.

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"]},
                    "wiki":  {"url": "https://…/mcp", "headers": {"Authorization": "${TOKEN}"}}}}

What only we understand is in a server's key `bathysphere`, so that other clients can share the
file. Keys of other clients are kept and not used.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from bathysphere.tools.mcp.errors import BadMcpConfig
from bathysphere.tools.mcp.references import UnsetVariable, resolve

FILE = "mcp.json"
SERVERS = "mcpServers"
OWN = "bathysphere"
MAX_BYTES = 1_000_000
MAX_SERVERS = 50
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}(?<!_)\Z")
_KEYS = frozenset({"command", "args", "env", "cwd", "url", "headers", "type", "disabled", OWN})
_HTTP = ("http", "streamable-http", "streamable_http", "streamableHttp")

Ask = Literal["changes", "always"]


class Options(BaseModel):
    """A server's key `bathysphere`."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, strict=True
    )

    agents: list[str] | None = None
    """The agents that may use the server; default: all that can."""
    tools: list[str] | None = None
    """The tools that are offered; default: all."""
    ask: Ask = "changes"
    """Whether tools that are declared read-only need approval, too."""
    read_only: list[str] = Field(default_factory=list)
    """Tools that the operator declares read-only."""
    connect_seconds: float = Field(default=10, gt=0, le=300)
    call_seconds: float = Field(default=10, gt=0, le=3600)
    """How long a call may be silent; a server that reports progress may take longer."""
    result_bytes: int = Field(default=50_000, ge=1_000, le=1_000_000)


class _Server(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    command: str | None = Field(default=None, min_length=1)
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)
    type: str | None = None
    disabled: bool = False
    bathysphere: Options = Field(default_factory=Options)


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """One configured server, with its references resolved. Values are not in its `repr`."""

    name: str
    command: str | None = field(default=None, repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Options = field(default_factory=Options)
    unused: tuple[str, ...] = ()
    """Keys of other clients."""

    @property
    def transport(self) -> Literal["stdio", "http"]:
        """The transport."""
        return "stdio" if self.command is not None else "http"


@dataclass(frozen=True, kw_only=True, slots=True)
class McpConfig:
    """The servers of a file, by name."""

    file: Path
    servers: Mapping[str, Server]
    disabled: tuple[str, ...] = ()

    def for_agent(self, agent: str) -> tuple[str, ...]:
        """The servers that an agent may use."""
        return tuple(
            name
            for name, server in self.servers.items()
            if server.options.agents is None or agent in server.options.agents
        )


def read_config(file: Path, variables: Mapping[str, str]) -> McpConfig:
    """Read and check an `mcp.json`.

    Args:
        file: The file.
        variables: Where references are looked up: the environment of the process.

    Raises:
        BadMcpConfig: It is not valid, or a reference names a variable that is not set.
    """
    servers: dict[str, Server] = {}
    disabled = []
    for name, raw in read_servers(file).items():
        parsed = _parse(file, name, raw)
        if parsed.disabled:
            disabled.append(name)
            continue
        servers[name] = _resolved(
            file, name, parsed, unused=sorted(raw.keys() - _KEYS), of=variables
        )
    return McpConfig(file=file, servers=servers, disabled=tuple(disabled))


def read_servers(file: Path) -> dict[str, dict[str, Any]]:
    """The entries of `mcpServers` as they are written.

    Raises:
        BadMcpConfig: The file cannot be read, or is not an `mcp.json`.
    """
    data = _json(file)
    servers = data.get(SERVERS) if isinstance(data, dict) else None
    if not isinstance(servers, dict):
        hint = f"rename 'servers' to '{SERVERS}'" if _has_servers(data) else "see docs/mcp.md"
        raise BadMcpConfig(f"{file}: No object '{SERVERS}'", hint=hint)
    if len(servers) > MAX_SERVERS:
        raise BadMcpConfig(f"{file}: More than {MAX_SERVERS} servers", hint="remove some")
    for name, raw in servers.items():
        check_server_name(name, file=file)
        if not isinstance(raw, dict):
            raise _bad(file, name, None, "not an object", "see docs/mcp.md")
    return servers


def check_server_name(name: str, *, file: Path) -> None:
    """Refuse a name that cannot be the beginning of a tool's name.

    Raises:
        BadMcpConfig: The name is not allowed.
    """
    if not _NAME.match(name):
        hint = "use up to 32 letters, digits, '-' and single '_', beginning with a letter or digit"
        raise BadMcpConfig(f"{file}: Server name not allowed: {name[:60]!r}", hint=hint)


def check_server(file: Path, name: str, raw: Mapping[str, Any]) -> None:
    """Check one entry of `mcpServers` without resolving its references.

    Raises:
        BadMcpConfig: It is not valid.
    """
    check_server_name(name, file=file)
    _parse(file, name, raw)


def _parse(file: Path, name: str, raw: Mapping[str, Any]) -> _Server:
    try:
        server = _Server.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise _bad(
            file, name, key, _sentence(first["type"], first["msg"]), "see docs/mcp.md"
        ) from error
    if (server.command is None) == (server.url is None):
        raise _bad(file, name, None, "needs either 'command' or 'url'", "see docs/mcp.md")
    if server.type == "sse":
        hint = "use the server's streamable HTTP address, with type 'http'"
        raise _bad(file, name, "type", "the transport 'sse' is not supported", hint)
    expected = ("stdio",) if server.command is not None else _HTTP
    if server.type is not None and server.type not in expected:
        raise _bad(file, name, "type", f"must be '{expected[0]}' here", "correct or remove it")
    return server


def _resolved(
    file: Path, name: str, server: _Server, *, unused: Iterable[str], of: Mapping[str, str]
) -> Server:
    def value(text: str, key: str) -> str:
        try:
            return resolve(text, of)
        except UnsetVariable as error:
            problem = f"the variable {error.name} is not set"
            raise _bad(
                file, name, key, problem, f"set {error.name}, or disable the server"
            ) from None

    def table(values: Mapping[str, str], key: str) -> dict[str, str]:
        return {each: value(text, f"{key}.{each}") for each, text in values.items()}

    url = None if server.url is None else value(server.url, "url")
    if url is not None and not url.startswith(("http://", "https://")):
        raise _bad(file, name, "url", "not an http or https address", "see docs/mcp.md")
    return Server(
        name=name,
        command=None if server.command is None else value(server.command, "command"),
        args=tuple(value(text, f"args.{index}") for index, text in enumerate(server.args)),
        env=table(server.env, "env"),
        cwd=None if server.cwd is None else value(server.cwd, "cwd"),
        url=url,
        headers=table(server.headers, "headers"),
        options=server.bathysphere,
        unused=tuple(unused),
    )


def _json(file: Path) -> Any:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadMcpConfig(
            f"Cannot read {file}: {error.strerror}", hint="check the path"
        ) from error
    if len(data) > MAX_BYTES:
        raise BadMcpConfig(f"{file} has more than {MAX_BYTES:,} bytes", hint="shorten it")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadMcpConfig(f"{file} is not text in UTF-8", hint="save it as UTF-8") from error
    except json.JSONDecodeError as error:
        problem = f"{file}:{error.lineno}: Invalid JSON: {error.msg}"
        raise BadMcpConfig(problem, hint="JSON has no comments and no trailing commas") from error
    except RecursionError as error:
        raise BadMcpConfig(
            f"{file}: Invalid JSON: nested too deeply", hint="see docs/mcp.md"
        ) from error


def _has_servers(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("servers"), dict)


def _sentence(kind: str, message: str) -> str:
    return "unknown key" if kind == "extra_forbidden" else message[:1].lower() + message[1:]


def _bad(file: Path, server: str, key: str | None, problem: str, hint: str) -> BadMcpConfig:
    place = f"'{key}': " if key else ""
    return BadMcpConfig(f"{file}: Server '{server}': {place}{problem}", hint=hint)
