"""Which agents get the tools of MCP servers."""

import json
from types import SimpleNamespace

import pytest

from bathysphere.agents import configured
from bathysphere.agents.simple import SimpleConfig
from bathysphere.middleware.mcp import McpMiddleware
from bathysphere.models.settings import ModelSettings
from bathysphere.registry.agents import folder_agent, resolve_agent
from bathysphere.registry.errors import LoadError
from bathysphere.registry.targets import parse_target
from bathysphere.tools.mcp.config import read_config
from bathysphere.tools.mcp.hub import McpHub

SETTINGS = ModelSettings(main="demo:tour")


def hub(tmp_path, **servers):
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return McpHub(read_config(file, {}))


def layers(spec):
    return [layer.servers for layer in spec.middleware if isinstance(layer, McpMiddleware)]


def test_simple_and_its_helpers_have_the_servers_that_are_for_them(tmp_path):
    for_tutor = {"command": "x", "bathysphere": {"agents": ["tutor"]}}
    servers = hub(tmp_path, a={"command": "x"}, b=for_tutor)
    spec = configured("simple", SETTINGS, config=SimpleConfig(mcp=servers))
    assert layers(spec) == [("a",)]
    assert layers(spec.subagents[0]) == [("a",)]


def test_simple_without_servers_is_as_before(tmp_path):
    spec = configured("simple", SETTINGS, config=SimpleConfig(mcp=hub(tmp_path)))
    assert layers(spec) == []


def folder(tmp_path, line):
    where = tmp_path / "helper"
    where.mkdir()
    (where / "agent.toml").write_text(f'description = "x"\n{line}\n', encoding="utf-8")
    (where / "prompt.md").write_text("You help.", encoding="utf-8")
    return folder_agent(parse_target("./helper", folder=tmp_path))


def test_an_agent_folder_has_the_servers_that_it_names(tmp_path):
    agent = folder(tmp_path, 'mcp = ["a"]')
    servers = hub(tmp_path, a={"command": "x"}, b={"command": "x"})
    spec = resolve_agent(agent, SETTINGS, mcp=servers)
    assert layers(spec) == [("a",)]
    assert layers(spec.subagents[0]) == [("a",)]


def test_a_server_that_is_not_there_is_named_with_its_line(tmp_path):
    agent = folder(tmp_path, 'mcp = ["c"]')
    for_other = {"command": "x", "bathysphere": {"agents": ["simple"]}}
    with pytest.raises(LoadError, match=r"agent.toml:2: No MCP server 'c' in no file"):
        resolve_agent(agent, SETTINGS)
    with pytest.raises(LoadError, match=r"agent.toml:2: No MCP server 'c' in .*mcp.json"):
        resolve_agent(agent, SETTINGS, mcp=hub(tmp_path, c=for_other))


def test_with_mcp_servers_every_note_waits_because_descriptions_are_text_from_outside(tmp_path):
    """A tool's description is in the prompt before any tool has been called."""
    write = {"name": "write_file", "args": {"file_path": "/memories/x", "content": "x"}, "id": "1"}

    def waits(config: SimpleConfig) -> bool:
        rule = configured("simple", SETTINGS, config=config).approvals["write_file"]
        request = SimpleNamespace(tool_call=write, state={"messages": []})
        return rule["when"](request)

    assert not waits(SimpleConfig())
    assert waits(SimpleConfig(mcp=hub(tmp_path, a={"command": "true"})))
