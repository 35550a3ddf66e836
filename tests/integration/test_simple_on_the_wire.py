"""The simple agent through the real OpenAI and Anthropic clients, over HTTP."""

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.simple import spec
from bathysphere.cli.talk.events import AgentText, Pause, Reader, ToolCall, ToolResult
from bathysphere.core.errors import UpstreamError
from bathysphere.core.usage import total
from bathysphere.harness.build import build
from bathysphere.middleware.reliability import reliability
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ModelServer, calls, refuses, says, together

pytestmark = pytest.mark.node

CLIENTS = ["openai", "anthropic"]
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
TEXT = "Both notes are written and the first one is changed as you allowed."


@pytest.fixture(scope="module")
def running():
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(running):
    running.play([])
    return running


def chat_model(client, server):
    if client == "openai":
        url = server.openai_base_url
        return ChatOpenAI(model="gpt-5", api_key="none", base_url=url, max_retries=0)
    url = server.anthropic_base_url
    return ChatAnthropic(
        model="claude-sonnet-4-6", api_key="none", base_url=url, max_retries=0, max_tokens=1000
    )


def reader_of(client, server):
    model = chat_model(client, server)
    models = Models(main=model, subagent=model, summary=model, audit=model)
    layers = reliability(ModelSettings.model_construct(retries=1, retry_delay_s=0))
    graph = build(spec(models=models, reliability=layers), checkpointer=InMemorySaver())
    return Reader(graph=graph, config={"configurable": {"thread_id": "1"}})


async def read(reader, given):
    return [event async for event in reader.run(given)]


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("client", CLIENTS)
async def test_it_streams_works_in_parallel_is_approved_and_finishes(client, server):
    change = {"file_path": "/one.md", "old_string": "one", "new_string": "first"}
    server.play(
        [
            together(
                calls("write_file", file_path="/one.md", content="one"),
                calls("write_file", file_path="/two.md", content="two"),
                text="I write both notes at once.",
            ),
            calls("edit_file", change),
            says(TEXT),
        ]
    )
    reader = reader_of(client, server)

    first = await read(reader, {"messages": [("user", "Write two notes, then change one.")]})
    words = of(AgentText, first)
    assert len(words) > 1  # it came in pieces
    assert "".join(w.text for w in words) == "I write both notes at once."
    assert [(c.name, c.args.get("file_path")) for c in of(ToolCall, first)] == [
        ("write_file", "/one.md"),
        ("write_file", "/two.md"),
        ("edit_file", "/one.md"),
    ]
    assert [r.failed for r in of(ToolResult, first)] == [False, False]
    (paused,) = of(Pause, first)
    (interrupt,) = paused.interrupts
    assert interrupt.value["type"] == "tool_approval"
    assert interrupt.value["args"] == change

    second = await read(reader, Command(resume={interrupt.id: {"type": "approve"}}))
    assert len(of(AgentText, second)) > 1
    assert "".join(w.text for w in of(AgentText, second)) == TEXT
    state = await reader.graph.aget_state(reader.config)
    assert state.next == ()
    assert state.values["files"]["/one.md"]["content"] == "first"
    assert state.values["files"]["/two.md"]["content"] == "two"
    used = total(state.values["usage"])
    assert (used.model_calls, used.tool_calls) == (3, 3)
    assert used.tokens > 0

    requests = server.requests()
    assert [request.path for request in requests] == [PATHS[client]] * 3
    assert all(request.body["stream"] for request in requests)
    assert _tools(requests[0].body) >= {"write_todos", "write_file", "edit_file", "task"}
    assert _results(client, requests[1].body) == ["Updated file /one.md", "Updated file /two.md"]
    server.assert_done()


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_rejection_reaches_the_model_and_a_passing_error_is_tried_again(client, server):
    server.play(
        [
            refuses(503, "Overloaded."),
            calls("delete", file_path="/one.md"),
            says("Then I leave it."),
        ]
    )
    reader = reader_of(client, server)
    (*_, paused) = await read(reader, {"messages": [("user", "Delete it.")]})
    (interrupt,) = paused.interrupts
    answer = {interrupt.id: {"type": "reject", "message": "Keep it."}}
    events = await read(reader, Command(resume=answer))
    assert "".join(w.text for w in of(AgentText, events)) == "Then I leave it."
    (told,) = _results(client, server.requests()[-1].body)
    assert "Keep it." in told
    server.assert_done()


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_provider_that_stays_down_is_one_sentence(client, server):
    server.play([refuses(503, "Overloaded."), refuses(503, "Overloaded.")])
    with pytest.raises(UpstreamError, match="failed with status 503"):
        await read(reader_of(client, server), {"messages": [("user", "Hello?")]})
    server.assert_done()


def _tools(body):
    return {tool.get("name") or tool["function"]["name"] for tool in body["tools"]}


def _results(client, body):
    """What the last message, or messages, tell the model of its tool calls."""
    if client == "openai":
        last = [m for m in body["messages"] if m["role"] == "tool"]
        return [m["content"] for m in last]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    found = [b["content"] for b in blocks if b["type"] == "tool_result"]
    return [c if isinstance(c, str) else "".join(part["text"] for part in c) for c in found]
