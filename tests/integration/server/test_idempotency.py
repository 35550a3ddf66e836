"""A request that is sent again makes no second run, whichever way it makes one."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "faults"))

from engine_rig import Nursery, own_database

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]
SHORT = {"name": "a", "steps": 1, "delay": 0}
BODY = {"assistant_id": "steps", "input": SHORT}
REDIS = "redis://127.0.0.1:6379/0"


@pytest.fixture(scope="module")
def database():
    with own_database() as found:
        yield found


@pytest.fixture(scope="module")
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
async def http(database, nursery) -> AsyncIterator[httpx.AsyncClient]:
    api = nursery.serve(database, redis=REDIS)
    try:
        with nursery.workers(database, 1):
            async with httpx.AsyncClient(base_url=api.address, timeout=60) as client:
                yield client
    finally:
        api.end()


async def thread_of(http: httpx.AsyncClient) -> str:
    return (await http.post("/threads", json={})).json()["thread_id"]


async def runs_of(http: httpx.AsyncClient, thread: str) -> list[dict[str, Any]]:
    return (await http.get(f"/threads/{thread}/runs")).json()


@pytest.mark.parametrize("way", ["", "/wait", "/stream"])
async def test_a_run_of_a_thread_is_made_once(http: httpx.AsyncClient, way: str):
    thread, key = await thread_of(http), {"Idempotency-Key": str(uuid4())}
    both = [
        await http.post(f"/threads/{thread}/runs{way}", json=BODY, headers=key) for _ in range(2)
    ]
    assert [answer.status_code for answer in both] == [200, 200], both[-1].text
    assert len(await runs_of(http, thread)) == 1
    assert len({answer.headers["content-location"] for answer in both}) == 1
    await http.post(f"/threads/{thread}/runs{way}", json=BODY)
    assert len(await runs_of(http, thread)) == 2


@pytest.mark.parametrize("way", ["", "/wait", "/stream"])
async def test_a_stateless_run_is_made_once(http: httpx.AsyncClient, way: str):
    key = {"Idempotency-Key": str(uuid4())}
    both = await asyncio.gather(
        *(http.post(f"/runs{way}", json=BODY, headers=key) for _ in range(2))
    )
    assert [answer.status_code for answer in both] == [200, 200], both[-1].text
    assert len({answer.headers["content-location"] for answer in both}) == 1


async def test_the_runs_of_a_batch_differ_and_are_made_once(http: httpx.AsyncClient):
    key = {"Idempotency-Key": "batch"}
    first, second = [
        [
            run["run_id"]
            for run in (await http.post("/runs/batch", json=[BODY] * 3, headers=key)).json()
        ]
        for _ in range(2)
    ]
    assert first == second
    assert len(set(first)) == 3


async def test_a_command_is_carried_out_once(http: httpx.AsyncClient):
    thread, key = str(uuid4()), {"Idempotency-Key": "command"}
    command = {"id": 1, "method": "run.start", "params": BODY}
    both = [
        (await http.post(f"/threads/{thread}/commands", json=command, headers=key)).json()
        for _ in range(2)
    ]
    assert both[0]["result"]["run_id"] == both[1]["result"]["run_id"]
    assert len(await runs_of(http, thread)) == 1


async def test_an_answer_that_is_sent_again_does_not_answer_the_next_question(
    http: httpx.AsyncClient,
):
    thread = await thread_of(http)
    asked = {"assistant_id": "asker", "input": {"name": "a", "steps": 2}}
    await http.post(f"/threads/{thread}/runs/wait", json=asked)
    answer = {"assistant_id": "asker", "command": {"resume": "yes"}}
    key = {"Idempotency-Key": "answer"}
    for _ in range(2):
        answered = await http.post(f"/threads/{thread}/runs/wait", json=answer, headers=key)
        assert answered.status_code == 200, answered.text
    assert len(await runs_of(http, thread)) == 2


async def test_a_key_belongs_to_one_request_and_one_person(http: httpx.AsyncClient):
    thread, key = await thread_of(http), {"Idempotency-Key": "mine"}
    path = f"/threads/{thread}/runs"
    assert (await http.post(path, json=BODY, headers=key)).status_code == 200
    other = {**BODY, "input": {**SHORT, "name": "b"}}
    reused = await http.post(path, json=other, headers=key)
    assert (reused.status_code, reused.json()["error"]) == (422, "idempotency_key_reused")
    bob = {**key, "x-user": "bob"}
    mine = (await http.post("/runs", json=BODY, headers=key)).json()
    theirs = (await http.post("/runs", json=BODY, headers=bob)).json()
    assert mine["run_id"] != theirs["run_id"]


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_has_a_length(http: httpx.AsyncClient, key: str):
    answer = await http.post("/runs", json=BODY, headers={"Idempotency-Key": key})
    assert answer.status_code == 422


async def test_an_api_that_dies_before_it_answers_makes_no_second_run(
    database, nursery, http: httpx.AsyncClient
):
    """60 requests, each repeated until it is answered, while the API is killed at random."""
    chance = random.Random(7)
    api = nursery.serve(database, redis=REDIS)
    thread = await thread_of(http)
    acknowledged: list[str] = []

    async def submit(number: int) -> None:
        while True:
            address = api.address
            try:
                async with httpx.AsyncClient(base_url=address, timeout=10) as client:
                    answer = await client.post(
                        f"/threads/{thread}/runs",
                        json=BODY,
                        headers={"Idempotency-Key": f"request {number}"},
                    )
                acknowledged.append(answer.json()["run_id"])
            except httpx.HTTPError:
                await asyncio.sleep(0.05)
            else:
                return

    for batch in range(6):
        sending = [asyncio.create_task(submit(batch * 10 + n)) for n in range(10)]
        await asyncio.sleep(chance.uniform(0.0, 0.1))
        api.kill()
        api = nursery.serve(database, redis=REDIS)
        await asyncio.gather(*sending)
    api.end()
    made = (await http.get(f"/threads/{thread}/runs", params={"limit": 1000})).json()
    assert len(made) == 60
    assert {run["run_id"] for run in made} == set(acknowledged)
