"""Connections to real MCP servers: nothing that a server does hangs or leaks."""

import asyncio
import os
import time

import psutil
import pytest

from bathysphere.tools.mcp.config import Options
from bathysphere.tools.mcp.errors import McpToolFailed, McpUnavailable

LIMIT = 10


async def tools_of(hub, *servers):
    offer = await hub.offer(servers)
    return {tool.name: tool for tool in offer.tools}, offer


async def test_tools_are_named_by_server_over_stdio_and_http(kit):
    port, _ = kit.start_http()
    hub = kit.hub(near=kit.stdio("workshop"), far=kit.http(port))
    tools, offer = await tools_of(hub, "near", "far")
    assert offer.unavailable == ()
    assert tools["near__measure"].is_read_only
    assert not tools["near__dig"].is_read_only
    assert not tools["far__fill"].is_read_only
    for server in ("near", "far"):
        text = await hub.call(tools[f"{server}__measure"], {"place": "Challenger Deep"})
        assert text == "Challenger Deep: 10935 m"


async def test_a_tool_that_fails_says_why(kit):
    hub = kit.hub(near=kit.stdio("workshop"))
    tools, _ = await tools_of(hub, "near")
    with pytest.raises(McpToolFailed, match="the drill is broken"):
        await hub.call(tools["near__fail"], {})


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_that_dies_in_mid_call_is_an_error_and_is_connected_to_again(
    kit, transport, within
):
    port = None
    if transport == "http":
        port, _ = kit.start_http()
    # Over HTTP, a server that died looks like one that is silent.
    hub = kit.hub(it=kit.stdio("workshop") if port is None else kit.http(port, callSeconds=2))
    tools, _ = await tools_of(hub, "it")
    began = time.monotonic()
    with pytest.raises(McpUnavailable, match=r"ended during the call|did not answer"):
        await hub.call(tools["it__die"], {})
    within(time.monotonic() - began, LIMIT)
    if port is not None:
        kit.start_http(port)
    assert await hub.call(tools["it__measure"], {"place": "x"}) == "x: 10935 m"


async def test_a_dead_server_keeps_its_tools_and_says_that_it_is_away(kit, within):
    port, process = kit.start_http()
    hub = kit.hub(it=kit.http(port, connectSeconds=3))
    tools, _ = await tools_of(hub, "it")
    process.kill()
    process.wait()
    began = time.monotonic()
    with pytest.raises(McpUnavailable):
        await hub.call(tools["it__measure"], {"place": "x"})
    with pytest.raises(McpUnavailable, match="cannot be reached"):
        await hub.call(tools["it__measure"], {"place": "x"})
    again, offer = await tools_of(hub, "it")
    within(time.monotonic() - began, LIMIT)
    assert again == tools
    assert offer.unavailable == ("it",)


@pytest.mark.parametrize("tool", ["wait", "freeze"])
async def test_a_server_that_never_answers_is_given_up_and_others_go_on(kit, tool, within):
    hub = kit.hub(it=kit.stdio("workshop", callSeconds=1))
    tools, _ = await tools_of(hub, "it")
    began = time.monotonic()
    with pytest.raises(McpUnavailable, match="did not answer within 1 seconds"):
        await hub.call(tools[f"it__{tool}"], {})
    within(time.monotonic() - began, LIMIT)
    if tool == "freeze":
        await asyncio.sleep(3)  # the ping that nobody answers
    assert await hub.call(tools["it__measure"], {"place": "x"}) == "x: 10935 m"


def test_the_default_limit_of_a_silent_call_is_ten_seconds():
    assert Options().call_seconds == LIMIT
    assert Options().connect_seconds == LIMIT


async def test_a_server_that_reports_progress_may_take_longer(kit):
    hub = kit.hub(it=kit.stdio("workshop", callSeconds=1.5))
    tools, _ = await tools_of(hub, "it")
    assert await hub.call(tools["it__slow"], {"steps": 6}) == "slow but done"


async def test_a_program_that_does_not_speak_mcp_is_named_with_its_last_words(kit, within):
    mute = {"command": "sleep", "args": ["60"], "bathysphere": {"connectSeconds": 1}}
    rude = {
        "command": "sh",
        "args": ["-c", "echo no such licence >&2; exit 4"],
        "bathysphere": {"connectSeconds": 5},
    }
    hub = kit.hub(mute=mute, rude=rude, gone={"command": "/no/such/program"})
    began = time.monotonic()
    offer = await hub.offer(["mute", "rude", "gone"])
    within(time.monotonic() - began, LIMIT)
    assert set(offer.unavailable) == {"mute", "rude", "gone"}
    assert offer.tools == ()
    with pytest.raises(McpUnavailable, match="no connection within 1 seconds"):
        await hub.test("mute")
    with pytest.raises(McpUnavailable, match="no such licence"):
        await hub.test("rude")
    with pytest.raises(McpUnavailable, match="No such file"):
        await hub.test("gone")


async def test_a_later_attempt_keeps_nobody_waiting(kit, within):
    hub = kit.hub(mute={"command": "sleep", "args": ["60"], "bathysphere": {"connectSeconds": 2}})
    await hub.offer(["mute"])
    began = time.monotonic()
    for _ in range(20):
        await hub.offer(["mute"])
    within(time.monotonic() - began, 1)


async def test_a_program_that_refuses_to_end_keeps_nobody_waiting(kit, within):
    stubborn = {
        "command": "sh",
        "args": ["-c", "trap '' TERM; while :; do sleep 60; done"],
        "bathysphere": {"connectSeconds": 1},
    }
    hub = kit.hub(stubborn=stubborn)
    await hub.offer(["stubborn"])
    began = time.monotonic()
    for _ in range(20):
        assert (await hub.offer(["stubborn"])).unavailable == ("stubborn",)
    within(time.monotonic() - began, 1)
    with pytest.raises(McpUnavailable, match="no connection within 1 seconds"):
        await hub.test("stubborn")


async def test_a_result_of_5_mb_is_cut_and_says_so(kit):
    hub = kit.hub(big=kit.stdio("warehouse", callSeconds=40))
    tools, _ = await tools_of(hub, "big")
    assert len(tools) == 200
    text = await hub.call(tools["big__inventory"], {})
    assert len(text.encode()) < 50_200
    assert "[Cut: the result has 4,999,995 bytes; these are its first 50,000.]" in text


async def test_a_program_gets_only_the_environment_that_its_entry_names(kit, monkeypatch):
    monkeypatch.setenv("A_SECRET", "x")
    hub = kit.hub(it=kit.stdio("workshop"))
    tools, _ = await tools_of(hub, "it")
    assert await hub.call(tools["it__secrets"], {}) == "none"


async def test_closing_ends_the_programs(kit):
    others = set(psutil.Process(os.getpid()).children(recursive=True))
    hub = kit.hub(it=kit.stdio("workshop"), mute={"command": "sleep", "args": ["61"]})
    await asyncio.wait([asyncio.create_task(hub.offer(["it"]))])
    started = set(psutil.Process(os.getpid()).children(recursive=True)) - others
    assert started
    await asyncio.to_thread(hub.close)
    assert not [child for child in started if child.is_running() and child.status() != "zombie"]
