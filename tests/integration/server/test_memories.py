"""Memory over HTTP: a person's notes and switch, and what their agents see after each change."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workspace_town import open_town

from bathysphere.agents.simple import spec
from bathysphere.backends.object_store import BucketConfig
from bathysphere.harness.build import build
from bathysphere.middleware.memories.notes import MAX_NOTES
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
ADA, BOB, EVE = "acme/ada", "acme/bob", "zenith/ada"
TEA = "Drinks tea, never coffee."


def obey(messages):
    """Do what the person says: `tool {json}`; then answer."""
    last = messages[-1]
    name, _, args = last.text.partition(" ")
    return calls(name, **json.loads(args)) if last.type == "human" and args else says("Done.")


class Home:
    """The server, and what the model of `simple` is sent."""

    def __init__(self, town, model):
        self.town, self.model = town, model

    async def call(self, user, method, path="", **request):
        return await self.town.call(user, method, f"/memories{path}", **request)

    async def notes(self, user):
        answer = await self.call(user, "GET")
        assert answer.status_code == 200, answer.text
        return {note["name"]: note["text"] for note in answer.json()["notes"]}

    async def say(self, user, tool="hello", **args):
        """Start a conversation; return its state, and all that the model was sent."""
        before = len(self.model.requests)
        words = f"{tool} {json.dumps(args)}" if args else tool
        body = {
            "assistant_id": "simple",
            "input": {"messages": [{"role": "user", "content": words}]},
        }
        answer = await self.town.call(user, "POST", "/runs/wait", json=body)
        assert answer.status_code == 200, answer.text
        sent = self.model.requests[before:]
        return answer.json(), "\n".join(m.model_dump_json() for call in sent for m in call)


@pytest.fixture
async def home(database):
    model = ScriptedChatModel(answer=obey)
    models = Models(main=model, subagent=model, summary=model, audit=model)
    extra = {"simple": lambda: build(spec(models=models))}
    async with open_town(database, BucketConfig(kind="memory"), extra) as town:
        home = Home(town, model)
        for user in (ADA, BOB, EVE):
            for name in await home.notes(user):
                await home.call(user, "DELETE", f"/{name}")
            assert (await home.call(user, "PUT", json={"is_on": True})).json()["is_on"] is True
        yield home


async def test_written_by_the_agent_edited_and_deleted_by_the_person(home):
    await home.say(ADA, "write_file", file_path="/memories/drinks.md", content=TEA)
    assert await home.notes(ADA) == {"drinks.md": TEA}
    (note,) = (await home.call(ADA, "GET")).json()["notes"]
    assert (note["by"], bool(note["changed_at"])) == ("agent", True)
    assert TEA in (await home.say(ADA))[1]

    answer = await home.call(ADA, "PUT", "/drinks.md", json={"text": "Drinks cocoa."})
    assert answer.json()["notes"][0]["by"] == "person"
    _, sent = await home.say(ADA)
    assert "Drinks cocoa." in sent
    assert TEA not in sent

    assert (await home.call(ADA, "DELETE", "/drinks.md")).status_code == 204
    _, sent = await home.say(ADA)
    assert "cocoa" not in sent
    assert TEA not in sent
    assert (await home.call(ADA, "DELETE", "/drinks.md")).status_code == 404


async def test_nobody_else_has_them(home):
    await home.call(ADA, "PUT", "/drinks.md", json={"text": TEA})
    for other in (BOB, EVE):
        assert await home.notes(other) == {}
        assert (await home.call(other, "DELETE", "/drinks.md")).status_code == 404
        assert TEA not in (await home.say(other))[1]
        await home.call(other, "PUT", "/drinks.md", json={"text": "Theirs."})
    assert await home.notes(ADA) == {"drinks.md": TEA}


async def test_the_switch_is_kept_on_the_server(home):
    await home.call(ADA, "PUT", "/drinks.md", json={"text": TEA})
    assert (await home.call(ADA, "PUT", json={"is_on": False})).json()["is_on"] is False
    state, sent = await home.say(ADA, "write_file", file_path="/memories/a", content="x")
    assert TEA not in sent
    assert "memory is off" in state["messages"][-2]["content"]
    assert await home.notes(ADA) == {"drinks.md": TEA}
    assert (await home.call(BOB, "GET")).json()["is_on"] is True


async def test_the_store_api_reaches_no_note(home):
    await home.call(ADA, "PUT", "/drinks.md", json={"text": TEA})
    for prefix in ([], ["@bathysphere"], ["memories"]):
        body = {"namespace_prefix": prefix, "limit": 100}
        answer = await home.town.call(ADA, "POST", "/store/items/search", json=body)
        assert TEA not in answer.text
    item = {"namespace": ["@bathysphere", "memories"], "key": "x", "value": {"text": "x"}}
    assert (await home.town.call(ADA, "PUT", "/store/items", json=item)).status_code == 422


async def test_what_cannot_be_kept_is_refused_with_a_reason(home):
    for name, text, why in (
        ("a", "x" * 501, "500 characters"),
        ("a", "  ", "empty"),
        (".a", "x", "name"),
        ("a", "\u0000", "null"),
    ):
        answer = await home.call(BOB, "PUT", f"/{name}", json={"text": text})
        assert answer.status_code == 422, (name, answer.text)
        assert why in answer.text.lower()
    for number in range(MAX_NOTES):
        answer = await home.call(BOB, "PUT", f"/n{number}", json={"text": "x"})
        assert answer.status_code == 200, answer.text
    answer = await home.call(BOB, "PUT", "/one-more", json={"text": "x"})
    assert answer.status_code == 422
    assert len(await home.notes(BOB)) == MAX_NOTES


async def test_where_the_operator_left_it_out_notes_can_be_read_and_deleted(home):
    await home.call(ADA, "PUT", "/drinks.md", json={"text": TEA})
    home.town.app.state.memories = "off"
    assert (await home.call(ADA, "PUT", json={"is_on": True})).status_code >= 400
    found = (await home.call(ADA, "GET")).json()
    assert (found["mode"], found["is_on"], len(found["notes"])) == ("off", False, 1)
    assert (await home.call(ADA, "DELETE", "/drinks.md")).status_code == 204
