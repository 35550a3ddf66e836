"""The settings of a `langgraph.json` on the real command: authentication, index and expiry."""

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
PROJECT = {
    "own.py": """
from typing import TypedDict
from langgraph.graph import START, StateGraph
from langgraph_sdk import Auth

auth = Auth()
TEAMS = {"Bearer ada": "acme", "Bearer bob": "globex"}


@auth.authenticate
async def authenticate(authorization: str | None):
    if authorization not in TEAMS:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Unknown token")
    return {"identity": authorization.split()[1], "tenant": TEAMS[authorization]}


@auth.on
async def own(ctx, value):
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}


@auth.on.assistants
async def everyone(ctx, value):
    return True


@auth.on.store
async def store(ctx, value):
    return True


async def embed(texts):
    return [[float("sea" in text), float("sun" in text), 1.0] for text in texts]


class State(TypedDict):
    text: str


async def note(state, runtime):
    user = runtime.server_info.user
    await runtime.store.aput(("notes",), state["text"], {"text": state["text"]})
    found = await runtime.store.asearch(("notes",), query="sea", limit=1)
    return {"text": f"{user.identity}: {found[0].key}"}


from langgraph.runtime import Runtime
note.__annotations__["runtime"] = Runtime
builder = StateGraph(State)
builder.add_node("note", note)
builder.add_edge(START, "note")
graph = builder.compile()
""",
    "langgraph.json": json.dumps(
        {
            "dependencies": ["."],
            "graphs": {"noter": "./own.py:graph"},
            "auth": {"path": "./own.py:auth"},
            "store": {
                "index": {"dims": 3, "embed": "./own.py:embed", "fields": ["text"]},
                "ttl": {"default_ttl": 60, "sweep_interval_minutes": 0.02},
            },
            "checkpointer": {
                "ttl": {"strategy": "delete", "default_ttl": 0.25, "sweep_interval_minutes": 0.02}
            },
        }
    ),
}


@pytest.fixture
def url(tmp_path: Path, command) -> str:
    """The command as a developer calls it: embedded PostgreSQL, nothing but the project."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    options = ("--data-dir", str(tmp_path / "data"), "--port", "0", "--only")
    return command("serve", *options, folder=folder).url()


async def test_authentication_index_and_expiry_are_honoured(url):
    async with httpx.AsyncClient(base_url=url) as stranger:
        assert (await stranger.post("/threads/search", json={})).status_code == 401
        assert (await stranger.get("/ok")).status_code == 200
    headers = {"Authorization": "Bearer ada"}, {"Authorization": "Bearer bob"}
    async with (
        get_client(url=url, headers=headers[0]) as ada,
        get_client(url=url, headers=headers[1]) as bob,
    ):
        thread = await ada.threads.create()
        assert thread["metadata"] == {"owner": "ada"}
        for text in ("the sun", "the sea"):
            ended = await ada.runs.wait(thread["thread_id"], "noter", input={"text": text})
        assert ended["text"] == "ada: the sea"
        found = await ada.store.search_items(("notes",), query="sea", limit=1)
        assert [item["key"] for item in found["items"]] == ["the sea"]
        found = await bob.store.search_items(("notes",), query="sea")
        assert found["items"] == []
        with pytest.raises(httpx.HTTPStatusError, match="not found"):
            await bob.threads.get(thread["thread_id"])
        until = time.monotonic() + 60
        while await ada.threads.search():
            if time.monotonic() >= until:
                raise TimeoutError("the thread was not deleted")
            await asyncio.sleep(0.2)
