"""Twelve second messages on the served graph, four of each kind, and what comes of them.

The model is the demo's, which follows rules; engine, database, routes and exports are real.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_research_api import open_town

from bathysphere.evidence.proof.check import verify_proof

pytestmark = pytest.mark.services

MESSAGES = [
    ("answer", "Who described what he saw to Gloria Hollister on deck?"),
    ("new", "Which composer wrote the Goldberg Variations?"),
    ("extend", "Search for its weight and its door."),
    ("answer", "Summarise what the sailors say in the harbour."),
    ("new", "How do bees find their way home?"),
    ("extend", "What did the bathysphere cost, and which museum exhibits it today?"),
    ("answer", "On what day did Beebe and Barton go down off Bermuda?"),
    ("new", "New topic: the history of lighthouses."),
    ("extend", "Find more sources on the steel walls and the ten bolts."),
    ("answer", "No new plan, please: what you read about the record in feet is enough."),
    ("new", "Start new research: how was the sphere made, and who paid for it?"),
    ("extend", "Extend the research to oxygen and carbon dioxide."),
]
APPROVED = {MESSAGES[8][1], MESSAGES[10][1]}


@pytest.fixture
async def town(database):
    async with open_town(database) as made:
        yield made


def merged(told):
    """The state that the events of a stream add up to."""
    return {key: value for _, data in told for key, value in data["state"].items()}


async def check_answer(town, thread, state):
    """Each quote stands at its bytes in the source as the server keeps it."""
    content = state["answer"]["content"]
    assert content["quotes"]
    for quote in content["quotes"]:
        source = await town.get(f"/api/research/{thread}/sources/{quote['snapshot']}")
        text = source.json()["text"].encode()
        assert text[quote["start"] : quote["end"]].decode() == quote["text"]
        assert quote["text"].replace("-", "") in state["answer"]["text"].replace("\\", "")


async def test_twelve_second_messages_are_understood_as_meant(town):
    thread, _ = await town.answered()
    understood, reports = [], 1
    for kind, message in MESSAGES:
        told = await town.post("/api/research", query=message, threadId=thread)
        state = merged(told)
        assert "followUp" in state, told
        understood.append((state["followUp"]["kind"], message))
        gates = [data for _, data in told if data["node"] == "hitl_gate"]
        if kind == "answer":
            assert not gates
            assert state["status"] == "complete"
            await check_answer(town, thread, state)
            continue
        assert gates, message
        assert bool(gates[0]["state"]["done"]) is (kind == "extend")
        if message in APPROVED:
            done = merged(await town.post("/api/research/approve", threadId=thread))
            assert done["status"] == "complete", done
            reports += 1
    assert understood == MESSAGES
    listed = (await town.get(f"/api/research/{thread}/reports")).json()["reports"]
    assert [one["number"] for one in listed] == [1, 2, 3] == list(range(1, reports + 1))
    assert [one["question"] for one in listed][1:] == [MESSAGES[8][1], MESSAGES[10][1]]
    for one in listed:
        path = f"/api/research/{thread}/report"
        proof = await town.get(path, format="zip", report=one["id"])
        assert verify_proof(proof.content).ok
        text = await town.get(path, format="md", report=one["id"])
        assert one["question"] in text.text


async def test_earlier_reports_are_listed_and_exported_for_their_owner_alone(town):
    thread, _ = await town.answered()
    first = (await town.get(f"/api/research/{thread}/report")).text
    await town.post("/api/research", query="Start new research: the sphere.", threadId=thread)
    newest = await town.get(f"/api/research/{thread}/report")
    assert newest.text == first, "the newest finished report, while a plan waits"
    (listed,) = (await town.get(f"/api/research/{thread}/reports")).json()["reports"]
    assert listed["question"] == "What depth did the bathysphere reach?"
    path = f"/api/research/{thread}/report"
    assert (await town.get(path, report=listed["id"])).text == first
    for other in (
        await town.get(f"/api/research/{thread}/reports", user="bob"),
        await town.get(path, user="bob", report=listed["id"]),
        await town.get(path, report="0" * 24),
    ):
        assert other.status_code == 404, other.text
    assert (await town.get(path, report="../1")).status_code == 422


async def test_a_kept_report_cannot_be_written_by_a_client(town):
    thread, _ = await town.answered()
    (listed,) = (await town.get(f"/api/research/{thread}/reports")).json()["reports"]
    space = ["@bathysphere", "threads", thread, "research", "reports"]
    body = {"namespace": space, "key": listed["id"], "value": {"values": {}, "seal": ""}}
    written = await town.client.put("/store/items", json=body, headers={"x-user": "alice"})
    assert written.status_code in (403, 422)
    for field in ("history", "follow_up", "answer"):
        path = f"/threads/{thread}/state"
        forged = await town.client.post(
            path, json={"values": {field: {}}}, headers={"x-user": "alice"}
        )
        assert forged.status_code == 422
        assert field in forged.text
    assert (await town.get(f"/api/research/{thread}/reports")).json()["reports"] == [listed]
