"""An agent folder, served by the real command: it answers, calls its tools, waits for approval."""

from pathlib import Path

import pytest
from langgraph_sdk import get_client

from bathysphere.testing.echo_model import echo_model

pytestmark = pytest.mark.services
AGENT = """
description = "Counts words"
tools = ["tools.py:count", "tools.py:erase"]
[approvals]
erase = ["approve", "reject"]
[models]
main = "lm-studio:echo"
"""
TOOLS = '''
def count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())

def erase(text: str) -> str:
    """Erase a text."""
    return f"erased {text}"
'''


@pytest.fixture(scope="module")
def model():
    with echo_model() as variables:
        yield {"LM_STUDIO_BASE_URL": variables["LM_STUDIO_BASE_URL"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("folder") / "agents/helper"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text(AGENT)
    (folder / "prompt.md").write_text("Count politely.")
    (folder / "tools.py").write_text(TOOLS)
    return folder.parents[1]


@pytest.fixture(scope="module")
def served(project, model, edge_database, module_command):
    database = ("--database-url", edge_database.url)
    return module_command(
        "serve", "./agents/helper", *database, "--port", "0", folder=project, **model
    )


@pytest.fixture(scope="module")
def url(served) -> str:
    return served.url()


@pytest.fixture
async def client(url):
    async with get_client(url=url) as client:
        yield client


def say(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


async def test_it_is_an_assistant_with_its_description(client, served):
    found = {each["graph_id"]: each for each in await client.assistants.search(limit=100)}
    assert found["helper"]["description"] == "Counts words"
    assert "Loaded helper from ./agents/helper." in "".join(served.errors)


async def test_its_model_gets_its_prompt_and_a_thread_remembers(client):
    thread = (await client.threads.create())["thread_id"]
    first = await client.runs.wait(thread, "helper", input=say("Hello"))
    assert first["messages"][-1]["content"] == "Count politely. | 1 | Hello"
    second = await client.runs.wait(thread, "helper", input=say("Again"))
    assert second["messages"][-1]["content"] == "Count politely. | 2 | Again"


async def test_its_tool_is_called(client):
    ended = await client.runs.wait(None, "helper", input=say('CALL count {"text": "a b c"}'))
    assert ended["messages"][-1]["content"].endswith("| 3")


async def test_a_gated_tool_waits_for_the_person_and_goes_on(client):
    thread = (await client.threads.create())["thread_id"]
    asked = await client.runs.wait(thread, "helper", input=say('CALL erase {"text": "it"}'))
    [question] = asked["__interrupt__"]
    answer = {question["id"]: {"type": "approve"}}
    ended = await client.runs.wait(thread, "helper", command={"resume": answer})
    assert ended["messages"][-1]["content"].endswith("| erased it")


def test_the_terminal_talks_to_it(project, model, command):
    chat = command("chat", "./agents/helper", "--message", "Ahoy", folder=project, **model)
    assert "Count politely. | 1 | Ahoy" in chat.output()


def test_a_mistake_ends_the_command_with_its_line(project, command, edge_database):
    folder = project / "agents/broken"
    folder.mkdir()
    (folder / "prompt.md").write_text("Hi.")
    (folder / "agent.toml").write_text("name = 'broken'\ntoolz = []")
    refused = command("serve", "./agents/broken", "--data-dir", "data", folder=project)
    assert refused.ended(40) == 1
    said = "agents/broken/agent.toml:2: Unknown key 'toolz'; did you mean 'tools'?"
    assert said in "".join(refused.errors)
