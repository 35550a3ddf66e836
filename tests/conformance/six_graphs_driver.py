"""A conversation that every graph of the project `six_graphs/` can have, on any server.

The graphs know nothing of the server: each asks a question about what it was told, and says what
the person decided.
"""

import json
from pathlib import Path

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

PROJECT = Path(__file__).parent / "six_graphs"
GRAPHS = list(json.loads((PROJECT / "langgraph.json").read_text())["graphs"])
ASKING = [graph for graph in GRAPHS if graph != "count"]


async def converse(url: str, graph: str) -> None:
    """Chat twice in one thread; each time the graph asks, is answered, and goes on."""
    async with get_client(url=url) as client:
        thread = (await client.threads.create())["thread_id"]
        first = await _turn(client, thread, graph, "Dive", "yes")
        assert [message["type"] for message in first][:: len(first) - 1] == ["human", "ai"]
        second = await _turn(client, thread, graph, "Rise", "no")
        assert second[: len(first)] == first, "what was said before is kept"


async def count(url: str) -> None:
    """The state of a function is what it returned, which need not have fields."""
    async with get_client(url=url) as client:
        thread = (await client.threads.create())["thread_id"]
        assert await client.runs.wait(thread, "count", input="to dive") == 7
        assert (await client.threads.get_state(thread))["values"] == 7
        assert (await client.threads.get(thread))["values"] == 7
        parts = [part async for part in client.runs.stream(thread, "count", input="to rise")]
        assert (parts[-1].event, parts[-1].data) == ("values", 7)


async def _turn(
    client: LangGraphClient, thread: str, graph: str, words: str, answer: str
) -> list[dict]:
    """The messages after a question was asked and answered, both streamed."""
    question = {"messages": [{"role": "user", "content": words}]}
    await _streamed(client, thread, graph, input=question)
    state = await client.threads.get_state(thread)
    [asked] = [one for task in state["tasks"] for one in task["interrupts"]]
    assert asked["value"] == {"question": f"{words}?"}
    await _streamed(client, thread, graph, command={"resume": answer})
    state = await client.threads.get_state(thread)
    assert not state["next"]
    messages: list[dict] = state["values"]["messages"]
    assert _text(messages[-1]) == f"You decided: {answer}"
    return messages


async def _streamed(client: LangGraphClient, thread: str, graph: str, **what: object) -> None:
    modes = ["updates", "values"]
    parts = [part async for part in client.runs.stream(thread, graph, stream_mode=modes, **what)]
    events = [part.event for part in parts]
    assert events[0] == "metadata"
    assert "updates" in events, parts
    assert "error" not in events, parts


def _text(message: dict) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
