"""`bathysphere new` and `dev` as processes: a first answer, and edits that are live at once."""

import asyncio
import time
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from bathysphere.testing.echo_model import echo_model

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


def say(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


async def ask(client, thread: str, text: str) -> str:
    ended = await client.runs.wait(thread, "x", input=say(text))
    return ended["messages"][-1]["content"]


async def until_said(dev, text: str, *, seconds: float = 10) -> None:
    """Wait for a line of standard error."""
    await asyncio.to_thread(_wait, dev, text, time.monotonic() + seconds)


def _wait(dev, text: str, deadline: float) -> None:
    while not any(text in line for line in dev.errors):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"not said: {text}\n{''.join(dev.errors)}")
        time.sleep(0.02)


@pytest.fixture(scope="module")
def model():
    with echo_model() as variables:
        yield variables


@pytest.fixture
def project(tmp_path, command) -> Path:
    assert command("new", "x", folder=tmp_path).ended() == 0
    (tmp_path / "x/agents/x/prompt.md").write_text("First prompt.")
    return tmp_path / "x"


@pytest.fixture
def dev(project, model, edge_database, command):
    """The command in the project's folder, on a model that repeats its prompt."""
    return command(
        *("dev", "--no-browser", "--database-url", edge_database.url, "--port", "0"),
        folder=project,
        **model,
    )


@pytest.fixture
async def client(dev):
    async with get_client(url=await asyncio.to_thread(dev.url)) as client:
        await until_said(dev, "Watching . for changes.")
        await asyncio.sleep(0.5)  # the watcher begins after the sentence
        yield client


async def test_a_new_project_answers_without_a_key_and_opens_the_browser(tmp_path, command, within):
    began = time.monotonic()
    assert command("new", "x", folder=tmp_path).ended() == 0
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    screen = {"BROWSER": f"{browser} %s", "DISPLAY": ":0"}
    dev = command("dev", "--port", "0", folder=tmp_path / "x", **screen)
    url = await asyncio.to_thread(dev.url)
    async with get_client(url=url) as client:
        thread = (await client.threads.create())["thread_id"]
        await client.runs.wait(thread, "x", input=say("Hello"))
        state = await client.threads.get_state(thread)
    first = next(each for each in state["values"]["messages"] if each["type"] == "ai")
    assert first["content"].startswith("Welcome aboard.")
    within(time.monotonic() - began, 30)
    assert opened.read_text().strip() == url
    assert "Reloaded" not in "".join(dev.errors)  # its own data folder is not a change
    assert (tmp_path / "x/.bathysphere").is_dir()


async def test_an_edit_of_the_prompt_is_live_and_the_thread_is_kept(client, dev, project, within):
    thread = (await client.threads.create())["thread_id"]
    assert await ask(client, thread, "One") == "First prompt. | 1 | One"
    began = time.monotonic()
    (project / "agents/x/prompt.md").write_text("Second prompt.")
    await until_said(dev, "Reloaded after a change of agents/x/prompt.md")
    assert await ask(client, thread, "Two") == "Second prompt. | 2 | Two"
    within(time.monotonic() - began, 3)


async def test_an_edit_while_the_server_starts_is_not_missed(dev, project):
    await until_said(dev, "Loaded x from ./agents/x.", seconds=40)
    (project / "agents/x/prompt.md").write_text("Early prompt.")
    async with get_client(url=await asyncio.to_thread(dev.url)) as client:
        await until_said(dev, "Reloaded after a change of agents/x/prompt.md")
        thread = (await client.threads.create())["thread_id"]
        assert await ask(client, thread, "One") == "Early prompt. | 1 | One"


async def test_a_broken_edit_is_said_and_the_last_good_version_answers(client, dev, project):
    thread = (await client.threads.create())["thread_id"]
    agent = project / "agents/x/agent.toml"
    good = agent.read_text()
    agent.write_text("toolz = []\n" + good)
    await until_said(dev, "agents/x/agent.toml:1: Unknown key 'toolz'; did you mean 'tools'?")
    await until_said(dev, "The last version that loaded stays in use.")
    assert await ask(client, thread, "One") == "First prompt. | 1 | One"
    agent.write_text(good)
    await until_said(dev, "Reloaded after a change of agents/x/agent.toml")


async def test_an_edit_of_a_tool_is_live_and_a_broken_one_is_not(client, dev, project):
    thread = (await client.threads.create())["thread_id"]
    tools = project / "agents/x/tools.py"
    call = 'CALL count_words {"text": "a b"}'
    assert (await ask(client, thread, call)).endswith("| 2")
    good = tools.read_text().replace("len(text.split())", "7")
    tools.write_text(good + "\n1 / 0\n")
    await until_said(dev, "ZeroDivisionError: division by zero")
    await until_said(dev, f"{tools}, line {len(good.splitlines()) + 2})")
    assert (await ask(client, thread, call)).endswith("| 2")
    tools.write_text(good)
    await until_said(dev, "Reloaded after a change of agents/x/tools.py")
    assert (await ask(client, thread, call)).endswith("| 7")


async def test_a_graph_that_is_added_is_served(client, dev, project):
    (project / "more.py").write_text(
        "from langgraph.graph import START, MessagesState, StateGraph\n"
        "more = StateGraph(MessagesState)\n"
        "more.add_node('node', lambda state: {'messages': ['more']})\n"
        "more.add_edge(START, 'node')\n"
    )
    (project / "langgraph.json").write_text(
        '{"graphs": {"x": "./agents/x", "more": "./more.py:more"}}'
    )
    await until_said(dev, "Loaded more from ./more.py:more.")
    await until_said(dev, "Reloaded after")
    assert (await client.runs.wait(None, "more", input={"messages": []}))["messages"]


async def test_a_project_that_is_broken_at_the_start_is_served_once_it_is_correct(
    project, model, edge_database, command
):
    agent = project / "agents/x/agent.toml"
    good = agent.read_text()
    agent.write_text("name = 5")
    database = ("--database-url", edge_database.url)
    dev = command("dev", "--no-browser", *database, "--port", "0", folder=project, **model)
    await until_said(dev, "Waiting for a change", seconds=40)
    assert any("agents/x/agent.toml:1: 'name': Input should be" in line for line in dev.errors)
    await asyncio.sleep(0.5)  # the watcher begins after the sentence
    agent.write_text(good)
    assert (await asyncio.to_thread(dev.url)).startswith("http://127.0.0.1:")


def test_a_folder_without_a_project_is_refused(tmp_path, command):
    refused = command("dev", "--no-browser", folder=tmp_path)
    assert refused.ended() == 1
    assert "No langgraph.json or agent.toml in this folder" in "".join(refused.errors)
