"""The real clients against the scripted model server, over all four wire formats."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import anthropic
import httpx
import ollama
import openai
import pytest
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.testing import (
    ModelServer,
    ScriptError,
    calls,
    fails,
    hangs,
    refuses,
    says,
    together,
)

pytestmark = pytest.mark.node

WIRES = ["openai", "openai-responses", "anthropic", "ollama"]
PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}
ERRORS = {
    "openai": openai.APIStatusError,
    "openai-responses": openai.APIStatusError,
    "anthropic": anthropic.APIStatusError,
    "ollama": ollama.ResponseError,
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@pytest.fixture(scope="module")
def shared():
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.play([])
    return shared


def client(wire, server, **extra):
    if wire == "ollama":
        return ChatOllama(model="scripted", base_url=server.ollama_base_url, **extra)
    common = {"api_key": "test", "max_retries": 0, "timeout": 10, **extra}
    if wire == "anthropic":
        return ChatAnthropic(model="claude-scripted", base_url=server.anthropic_base_url, **common)
    responses = wire == "openai-responses"
    return ChatOpenAI(
        model="gpt-scripted",
        base_url=server.openai_base_url,
        use_responses_api=responses,
        **common,
    )


async def streamed(model, text):
    chunks = [chunk async for chunk in model.astream(text)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return chunks, total


def named(message):
    return [(call["name"], call["args"]) for call in message.tool_calls]


# ── what every wire can do ──


@pytest.mark.parametrize("wire", WIRES)
def test_a_plain_answer(server, wire):
    server.play([says("Hello from the deep.")])
    message = client(wire, server).invoke("Hi")
    assert message.text == "Hello from the deep."
    if wire != "ollama":  # the server counts nothing on that wire
        assert message.usage_metadata["input_tokens"] == 100
        assert message.usage_metadata["output_tokens"] == 5
    assert [(r.method, r.path) for r in server.requests()] == [("POST", PATHS[wire])]
    server.assert_done()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_streamed_answer_comes_in_pieces(server, wire):
    text = "A long answer that is cut into several pieces on its way up."
    server.play([says(text)])
    chunks, total = await streamed(client(wire, server), "Hi")
    assert total.text == text
    assert len([chunk for chunk in chunks if chunk.text]) >= 4
    server.assert_done()


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_call(server, wire):
    server.play([calls("add", a=2, b=3)])
    message = client(wire, server).bind_tools([add]).invoke("2 + 3?")
    assert named(message) == [("add", {"a": 2, "b": 3})]
    if wire != "ollama":  # Ollama's format has no ids; its client makes them up
        assert [call["id"] for call in message.tool_calls] == ["call_1"]
    server.assert_done()


@pytest.mark.parametrize("wire", WIRES)
async def test_streamed_parallel_tool_calls(server, wire):
    server.play([together(calls("add", a=1, b=22), calls("shout", text="hé y"), calls("add", {}))])
    model = client(wire, server).bind_tools([add, shout])
    _, total = await streamed(model, "go")
    assert named(total) == [("add", {"a": 1, "b": 22}), ("shout", {"text": "hé y"}), ("add", {})]
    assert len({call["id"] for call in total.tool_calls}) == 3
    server.assert_done()


@pytest.mark.parametrize("wire", WIRES)
async def test_text_and_tool_calls_in_one_message(server, wire):
    turn = together(calls("add", a=1, b=2), calls("shout", text="x"), text="Let me see.")
    server.play([turn, turn])
    model = client(wire, server).bind_tools([add, shout])
    whole = await model.ainvoke("go")
    _, total = await streamed(model, "go")
    for message in (whole, total):
        assert message.text == "Let me see."
        assert named(message) == [("add", {"a": 1, "b": 2}), ("shout", {"text": "x"})]


@pytest.mark.parametrize("status", [429, 500])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_http_error_reaches_the_caller_whole_and_streamed(server, wire, status):
    server.play([refuses(status, "Try later."), refuses(status, "Try later.")])
    model = client(wire, server)
    with pytest.raises(ERRORS[wire], match="Try later") as whole:
        model.invoke("Hi")
    with pytest.raises(ERRORS[wire], match="Try later") as stream:
        await streamed(model, "Hi")
    assert whole.value.status_code == stream.value.status_code == status
    server.assert_done()


@pytest.mark.parametrize("wire", WIRES)
async def test_an_agent_streams_through_its_loop(server, wire):
    server.play(
        [together(calls("add", a=2, b=3), calls("shout", text="dive")), says("Five, and DIVE.")]
    )
    agent = create_agent(client(wire, server), [add, shout], system_prompt="Be brief.")
    said, results = [], []
    async for chunk, _ in agent.astream({"messages": [("user", "go")]}, stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk):
            said.append(chunk.text)
        else:
            results.append(chunk.text)
    assert "".join(said) == "Five, and DIVE."
    assert sorted(results) == ["5", "DIVE"]
    server.assert_done()


# ── retries, waiting ──


def test_a_client_that_retries_gets_the_next_turn(server):
    server.play([refuses(429), says("Second time lucky.")])
    model = client("openai", server, max_retries=1)
    assert model.invoke("Hi").text == "Second time lucky."
    assert len(server.requests()) == 2
    server.assert_done()


async def test_a_hanging_answer_runs_into_the_timeout_of_the_client(server):
    server.play([hangs(), hangs(0.3, then=says("Sorry."))])
    with pytest.raises(openai.APITimeoutError):
        await client("openai", server, timeout=0.3).ainvoke("Hi")
    start = time.monotonic()
    assert (await client("openai", server).ainvoke("Hi")).text == "Sorry."
    assert time.monotonic() - start >= 0.3


async def test_parallel_clients_share_the_script_without_losing_a_turn(server):
    texts = [f"turn {n}" for n in range(20)]
    server.play([says(text) for text in texts])
    models = [client(wire, server) for wire in WIRES]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(models[n % 4].ainvoke("x")) for n in range(20)]
    assert sorted(task.result().text for task in tasks) == sorted(texts)
    server.assert_done()


# ── strictness ──


@pytest.mark.parametrize("wire", WIRES)
def test_one_request_too_many_fails_at_the_client_and_in_assert_done(server, wire):
    server.play([says("Only this.")])
    model = client(wire, server)
    model.invoke("first")
    with pytest.raises(ERRORS[wire]) as too_many:
        model.invoke("second")
    assert too_many.value.status_code == 503
    with pytest.raises(ScriptError, match=f"1 requests were not in the script: {PATHS[wire]}"):
        server.assert_done()


def test_one_request_too_few_fails_in_assert_done(server):
    server.play([says("a"), says("never")])
    client("openai", server).invoke("Hi")
    with pytest.raises(ScriptError, match=r"1 of 2 turns were not requested: .*never"):
        server.assert_done()


def test_a_new_script_forgets_the_old_one(server):
    server.play([says("old"), says("old")])
    client("openai", server).invoke("Hi")
    server.play([says("new")])
    assert server.requests() == []
    assert client("anthropic", server).invoke("Hi").text == "new"
    server.assert_done()


# ── what was sent ──


def test_requests_show_the_bodies_as_they_were_on_the_wire(server):
    server.play([says("a"), says("b")])
    long = "x" * 200_000 + "\u2028\n\r\x85"
    client("anthropic", server).bind_tools([add]).invoke([("system", "Be brief."), ("user", long)])
    client("openai", server).invoke("Hi")
    first, second = server.requests()
    assert first.body["system"] == "Be brief."
    assert first.body["tools"][0]["input_schema"]["required"] == ["a", "b"]
    assert first.body["messages"][0]["content"] == long
    assert first.headers["anthropic-version"]
    assert second.body["messages"] == [{"content": "Hi", "role": "user"}]


# ── turns a server cannot play ──


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (fails(OSError()), "refuses"),
        (says(""), "empty answer"),
        (lambda _: says("x"), "Not a turn"),
    ],
)
def test_a_turn_that_cannot_be_served_is_refused_at_once(turn, reason):
    with pytest.raises(TypeError, match=reason):
        ModelServer([turn])


# ── the process ──


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


async def test_it_is_an_async_context_manager_and_leaves_nothing_behind():
    async with ModelServer([says("Hi.")]) as server:
        pid, url = server.pid, server.url
        assert (await client("openai", server).ainvoke("Hi")).text == "Hi."
        assert alive(pid)
    assert not alive(pid)
    async with httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(url)
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url


def test_the_process_ends_even_when_the_test_fails():
    pids = []
    with pytest.raises(ValueError, match="boom"), ModelServer([says("Hi.")]) as server:
        pids.append(server.pid)
        raise ValueError("boom")
    assert not alive(pids[0])


def test_the_process_does_not_outlive_a_killed_test_run(tmp_path):
    program = """
        import time
        from bathysphere.testing import ModelServer
        server = ModelServer().start()
        print(server.pid, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    scratch = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=scratch) as run:
        pid = int(run.stdout.readline())
        assert alive(pid)
        run.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(pid)


def test_without_node_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="The model server needs Node") as error:
        ModelServer().start()
    assert "install Node.js" in error.value.hint


def test_without_the_package_it_says_what_to_install(tmp_path):
    with pytest.raises(ConfigError, match="not installed") as error:
        ModelServer(node_modules=tmp_path).start()
    assert "npm ci --prefix tests/node" in error.value.hint


def test_a_server_that_cannot_start_shows_its_log(tmp_path):
    program = tmp_path / "@copilotkit/aimock/dist/cli.js"
    program.parent.mkdir(parents=True)
    program.write_text("console.error('cannot dive'); process.exit(1)")
    with pytest.raises(UpstreamError, match=r"exited at startup: .*cannot dive"):
        ModelServer(node_modules=tmp_path).start()


# ── the documentation ──


def test_the_example_in_the_documentation_runs_with_the_fixture(tmp_path):
    root = Path(__file__).parents[2]
    text = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    for name in ("conftest.py", "tests/test_wire.py"):
        example = re.search(rf"^```python\n# {name}\n(.*?)^```$", text, re.M | re.S)
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(example.group(1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=root, env=quick, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
