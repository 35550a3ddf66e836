"""`mcp.json`: what people have is understood, and a mistake is named with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import Tool, ToolAnnotations

from bathysphere.tools.mcp.config import Options, read_config
from bathysphere.tools.mcp.errors import BadMcpConfig
from bathysphere.tools.mcp.results import bounded
from bathysphere.tools.mcp.tools import (
    MAX_OFFERED,
    fits,
    newest_that_fit,
    remote_tools,
    search,
    tool_name,
)

FILES = {"command": "npx", "args": ["-y", "server-files", "${HOME_FOLDER:-/srv}"]}
WIKI = {"type": "http", "url": "https://wiki.example/mcp", "headers": {"Authorization": "${TOKEN}"}}


def read(tmp_path, data, **variables):
    file = tmp_path / "mcp.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return read_config(file, variables)


def test_both_transports_and_references(tmp_path):
    config = read(tmp_path, {"mcpServers": {"files": FILES, "wiki": WIKI}}, TOKEN="Bearer x")
    files, wiki = config.servers["files"], config.servers["wiki"]
    assert (files.transport, wiki.transport) == ("stdio", "http")
    assert files.args[-1] == "/srv"
    assert wiki.headers == {"Authorization": "Bearer x"}
    assert "Bearer x" not in repr(config)


def test_keys_of_other_clients_are_named_and_not_used(tmp_path):
    entry = {**FILES, "alwaysAllow": ["rm"], "timeout": 5}
    config = read(tmp_path, {"mcpServers": {"files": entry}})
    assert config.servers["files"].unused == ("alwaysAllow", "timeout")


def test_a_disabled_server_needs_no_variables(tmp_path):
    config = read(tmp_path, {"mcpServers": {"wiki": {**WIKI, "disabled": True}}})
    assert config.servers == {}
    assert config.disabled == ("wiki",)


def test_servers_are_chosen_by_agent(tmp_path):
    entry = {**FILES, "bathysphere": {"agents": ["tutor"]}}
    config = read(tmp_path, {"mcpServers": {"a": FILES, "b": entry}})
    assert config.for_agent("simple") == ("a",)
    assert config.for_agent("tutor") == ("a", "b")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "mcp.json:1: Invalid JSON"),
        ({"servers": {"a": FILES}}, "rename 'servers' to 'mcpServers'"),
        ({"mcpServers": {"a__b": FILES}}, "Server name not allowed: 'a__b'"),
        ({"mcpServers": {"a b": FILES}}, "Server name not allowed: 'a b'"),
        ({"mcpServers": {"a": {}}}, "Server 'a': needs either 'command' or 'url'"),
        ({"mcpServers": {"a": {**FILES, **WIKI}}}, "Server 'a': needs either 'command' or 'url'"),
        ({"mcpServers": {"a": {"command": 3}}}, "Server 'a': 'command': "),
        ({"mcpServers": {"a": {**WIKI, "type": "sse"}}}, "Server 'a': 'type': the transport 'sse'"),
        ({"mcpServers": {"a": {"url": "ftp://x"}}}, "Server 'a': 'url': not an http"),
        ({"mcpServers": {"a": WIKI}}, "'headers.Authorization': the variable TOKEN is not set"),
        (
            {"mcpServers": {"a": {**FILES, "bathysphere": {"callSecond": 1}}}},
            "Server 'a': 'bathysphere.callSecond': unknown key",
        ),
        (
            {"mcpServers": {"a": {**FILES, "bathysphere": {"ask": "never"}}}},
            "Server 'a': 'bathysphere.ask'",
        ),
    ],
)
def test_a_mistake_is_named_with_file_server_and_key(tmp_path, data, words):
    with pytest.raises(BadMcpConfig) as caught:
        read(tmp_path, data)
    assert words in str(caught.value)
    assert "mcp.json" in str(caught.value)


def listed(name, **more):
    schema = more.pop("schema", {"type": "object"})
    return Tool(name=name, inputSchema=schema, **more)


def test_only_a_tool_that_is_declared_read_only_is():
    reads = ToolAnnotations(readOnlyHint=True)
    found = remote_tools(
        "s",
        [
            listed("a", annotations=reads),
            listed("b"),
            listed("c", annotations=ToolAnnotations(destructiveHint=False, idempotentHint=True)),
            listed("d"),
        ],
        Options(read_only=["d"]),
    )
    assert [tool.is_read_only for tool in found] == [True, False, False, True]
    asked = remote_tools("s", [listed("a", annotations=reads)], Options(ask="always"))
    assert not asked[0].is_read_only


def test_a_tool_that_changes_has_another_fingerprint():
    one, other = (
        remote_tools("s", [listed("a", description=text)], Options())[0] for text in ("x", "y")
    )
    assert one.fingerprint != other.fingerprint


def test_descriptions_are_bounded_and_show_what_is_invisible():
    tool = remote_tools("s", [listed("a", description="x\u202e" + "y" * 5000)], Options())[0]
    assert "⟨U+202E⟩" in tool.description
    assert len(tool.description) < 1_100


def test_a_definition_that_is_too_large_is_left_out():
    huge = {"type": "object", "properties": {"x": {"description": "y" * 20_000}}}
    assert remote_tools("s", [listed("a", schema=huge)], Options()) == ()


@given(st.text(min_size=1, max_size=200))
def test_names_are_what_providers_accept_and_differ(name):
    made = tool_name("server", name)
    assert len(made) <= 64
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    assert made != tool_name("server", name + "!")


@given(st.text(min_size=1, max_size=30), st.integers(1, 300), st.integers(100, 2_000))
def test_a_result_is_bounded_whatever_is_in_it(words, times, limit):
    text = words * times
    kept = bounded(text, max_bytes=limit)
    assert len(kept.encode()) <= limit + 100
    assert kept.startswith("[Cut") or "[Cut: the result has" in kept or kept == text


def test_200_tools_do_not_fit_and_are_found_by_words():
    tools = remote_tools(
        "s", [listed(f"shelf_{n}", description="boxes") for n in range(200)], Options()
    )
    assert not fits(tools)
    assert len(newest_that_fit(tools)) == MAX_OFFERED
    assert search(tools, "what is on shelf 17?", limit=3)[0].remote_name == "shelf_17"
