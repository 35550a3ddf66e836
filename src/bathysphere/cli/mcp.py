"""`bathysphere mcp`: list, add, remove and test the MCP servers of an `mcp.json`."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bathysphere.tools.mcp.config import McpConfig
    from bathysphere.tools.mcp.hub import McpHub

HELP = "list, add, remove and test MCP servers"
MAX_TOOLS_SHOWN = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `mcp list|add|remove|test`."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the mcp.json (default: BATHYSPHERE_MCP_CONFIG, or mcp.json in this folder)",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="list the servers, without connecting to them")
    add = actions.add_parser("add", help="add a server, or replace one")
    add.add_argument("name", help="name of the server, as in its tools: NAME__TOOL")
    add.add_argument(
        "--command",
        dest="program",
        metavar="LINE",
        help="its program with arguments, in quotes: 'npx -y some-server'",
    )
    add.add_argument("--url", help="its streamable HTTP address")
    add.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a header of its requests; VALUE may refer to a variable: '${TOKEN}'",
    )
    add.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of its program; VALUE may refer to one: '${TOKEN}'",
    )
    add.add_argument("--agent", action="append", help="an agent that may use it (default: all)")
    remove = actions.add_parser("remove", help="remove a server")
    remove.add_argument("name", help="name of the server")
    test = actions.add_parser("test", help="connect to servers and list their tools")
    test.add_argument("names", nargs="*", metavar="NAME", help="servers (default: all)")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    actions = {"list": _list, "add": _add, "remove": _remove, "test": _test}
    return actions[args.action](args, _file(args.config))


def _file(given: Path | None) -> Path:
    from bathysphere.tools.mcp.config import FILE
    from bathysphere.tools.mcp.settings import McpSettings

    return given or McpSettings.from_environment().config or Path(FILE)


def _list(args: argparse.Namespace, file: Path) -> int:
    from bathysphere.core.words import count
    from bathysphere.tools.mcp.config import Server, read_servers

    del args
    servers = read_servers(_existing(file))
    print(f"{file}: {count(len(servers), 'server')}")
    width = max((len(name) for name in servers), default=0)
    for name, raw in servers.items():
        what = raw.get("url") or " ".join([str(raw.get("command")), *map(str, raw.get("args", ()))])
        off = " (disabled)" if raw.get("disabled") is True else ""
        print(f"  {name:<{width}}  {what}{off}")
    found: dict[str, Server] = dict(_config(file).servers)  # says what is wrong
    for name, server in found.items():
        if server.unused:
            print(f"Keys of '{name}' that are not used: {', '.join(server.unused)}.")
    return 0


def _add(args: argparse.Namespace, file: Path) -> int:
    import shlex

    from bathysphere.core.errors import CallerError
    from bathysphere.tools.mcp.config import check_server, read_servers

    command = shlex.split(args.program or "")
    if bool(command) == (args.url is not None):
        hint = "`mcp add NAME --url URL`, or `mcp add NAME --command 'PROGRAM ARGUMENT'`"
        raise CallerError("A server needs either a command or an address", hint=hint)
    entry: dict[str, Any] = {}
    if args.url is not None:
        entry = {"type": "http", "url": args.url, "headers": _pairs("--header", args.header)}
    else:
        entry = {"command": command[0], "args": command[1:], "env": _pairs("--env", args.env)}
    entry = {key: value for key, value in entry.items() if value}
    if args.agent:
        entry["bathysphere"] = {"agents": args.agent}
    check_server(file, args.name, entry)
    servers = read_servers(file) if file.exists() else {}
    verb = "Replaced" if args.name in servers else "Added"
    _write(file, {**servers, args.name: entry})
    print(f"{verb} '{args.name}' in {file}. Try it: bathysphere mcp test {args.name}")
    return 0


def _remove(args: argparse.Namespace, file: Path) -> int:
    from bathysphere.tools.mcp.config import read_servers

    servers = read_servers(_existing(file))
    _known(args.name, servers, file)
    del servers[args.name]
    _write(file, servers)
    print(f"Removed '{args.name}' from {file}.")
    return 0


def _test(args: argparse.Namespace, file: Path) -> int:
    import asyncio

    from bathysphere.tools.mcp.hub import McpHub

    config = _config(_existing(file))
    for name in args.names:
        _known(name, {**config.servers, **dict.fromkeys(config.disabled)}, file)
    names = [name for name in args.names or config.servers if name in config.servers]
    if not names:
        print(f"{file}: no servers that are enabled")
        return 1
    hub = McpHub(config)
    try:
        outcomes = [asyncio.run(_try(hub, name)) for name in names]
    finally:
        hub.close()
    return 0 if all(outcomes) else 2


async def _try(hub: "McpHub", name: str) -> bool:
    from bathysphere.cli.failures import print_error
    from bathysphere.core.invisible import reveal
    from bathysphere.core.words import count
    from bathysphere.tools.mcp.errors import McpUnavailable

    print(f"{name}: connecting …", file=sys.stderr, flush=True)
    try:
        status = await hub.test(name)
    except McpUnavailable as error:
        print_error(error)
        return False
    reads = sum(tool.is_read_only for tool in status.tools)
    tools = count(len(status.tools), "tool")
    print(f"{name}: {tools} over {status.transport}, {reads} without approval")
    for tool in status.tools[:MAX_TOOLS_SHOWN]:
        mark = "reads" if tool.is_read_only else "asks "
        print(f"  {mark}  {reveal(tool.name)}")
    if len(status.tools) > MAX_TOOLS_SHOWN:
        print(f"  … and {len(status.tools) - MAX_TOOLS_SHOWN} more")
    if status.left_out:
        print(f"  left out, because a definition is too large: {count(status.left_out, 'tool')}")
    return True


def _config(file: Path) -> "McpConfig":
    from bathysphere.tools.mcp.config import read_config

    return read_config(file, os.environ)


def _existing(file: Path) -> Path:
    from bathysphere.core.errors import CallerError

    if not file.exists():
        hint = "add a server: `bathysphere mcp add NAME --command 'PROGRAM ARGUMENT'`"
        raise CallerError(f"File not found: {file}", hint=hint)
    return file


def _known(name: str, servers: dict[str, Any], file: Path) -> None:
    from bathysphere.core.errors import CallerError

    if name not in servers:
        hint = f"choose {', '.join(servers)}" if servers else "it has no servers"
        raise CallerError(f"No server '{name}' in {file}", hint=hint)


def _pairs(flag: str, words: list[str]) -> dict[str, str]:
    from bathysphere.core.errors import CallerError

    pairs = {}
    for word in words:
        name, found, value = word.partition("=")
        if not found or not name:
            raise CallerError(f"{flag} needs NAME=VALUE, not {name!r}")
        pairs[name] = value
    return pairs


def _write(file: Path, servers: dict[str, Any]) -> None:
    """Write the servers; everything else in the file is kept."""
    import json

    from bathysphere.tools.mcp.config import SERVERS

    whole = json.loads(file.read_text(encoding="utf-8-sig")) if file.exists() else {}
    whole[SERVERS] = servers
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(file)
