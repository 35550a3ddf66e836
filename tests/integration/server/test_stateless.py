"""Runs without a thread of their own, clients that leave, and answers in parts: over real HTTP."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import uvicorn

sys.path.insert(0, str(Path(__file__).parents[2] / "faults"))

from api_process import identify
from engine_rig import ALICE, QUICK, QUICK_LIMITS, open_rig, own_database

from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.listener import Listener
from bathysphere.server.process.services import open_worker

pytestmark = pytest.mark.services
LONG = {"items": [], "name": "a", "steps": 200, "delay": 0.1}
SHORT = {"items": [], "name": "a", "steps": 1}
SWEEPING = WorkerOptions(
    concurrency=8,
    poll_seconds=QUICK.poll_seconds,
    sweep_seconds=0.2,
    temporary_seconds=0.5,
    drain_seconds=2,
)


@pytest.fixture(scope="module")
def database():
    with own_database() as found:
        yield found


class Town:
    """A server and a worker, and ways to look at what they leave."""

    def __init__(self, rig, http: httpx.AsyncClient) -> None:
        self.rig = rig
        self.http = http

    async def threads(self) -> list[str]:
        return [str(thread.thread_id) for thread in await self.rig.threads.search(owner=ALICE)]

    async def until(self, is_so: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            while not await is_so():  # noqa: ASYNC110  # other processes change it
                await asyncio.sleep(0.05)

    async def has_gone(self, thread: str) -> bool:
        return thread not in await self.threads()

    async def stream(self, path: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
        """The stream's events by name, without its heartbeats."""
        answer = await self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        found = []
        for part in answer.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in part.splitlines() if line[:1] != ":")
            if "data" in lines:
                found.append((lines["event"], json.loads(lines["data"])))
        return found


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """A real socket: a client must be able to leave."""
    server = Listener(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await server.is_listening.wait()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await serving


@pytest.fixture
async def town(database) -> AsyncIterator[Town]:
    async with (
        open_rig(database) as rig,
        listening(create_app(services=rig.services, identify=identify)) as address,
        httpx.AsyncClient(base_url=address, timeout=30) as http,
    ):
        worker = await open_worker(
            rig.services, metrics=Metrics(), limits=QUICK_LIMITS, options=SWEEPING
        )
        working = asyncio.create_task(worker.run())
        try:
            yield Town(rig, http)
        finally:
            worker.drain()
            await working


@pytest.mark.parametrize("path", ["/runs", "/runs/batch"])
async def test_the_thread_of_a_background_run_is_deleted_when_the_run_is_over(town, path):
    body = {"assistant_id": "steps", "input": SHORT}
    answer = (await town.http.post(path, json=[body] if path == "/runs/batch" else body)).json()
    run = answer[0] if path == "/runs/batch" else answer
    await town.until(lambda: town.has_gone(run["thread_id"]))


@pytest.mark.parametrize("path", ["/runs/wait", "/runs/stream"])
async def test_who_waits_gets_the_values_and_the_thread_is_deleted(town, path):
    body = {"assistant_id": "steps", "input": SHORT}
    answer = await town.http.post(path, json=body)
    assert "a:0" in answer.text
    thread = answer.headers["content-location"].split("/")[2]
    await town.until(lambda: town.has_gone(thread))


async def test_the_thread_is_deleted_although_the_client_left(town):
    before = set(await town.threads())
    body = {"assistant_id": "steps", "input": {**SHORT, "steps": 5, "delay": 0.1}}
    async with town.http.stream("POST", "/runs/stream", json=body) as response:
        await anext(response.aiter_lines())
    (thread,) = set(await town.threads()) - before
    assert (await town.rig.runs.list_of_thread(UUID(thread), owner=ALICE))[0].status != "cancelled"
    await town.until(lambda: town.has_gone(thread))


async def test_a_thread_that_is_to_be_kept_is_kept(town):
    body = {"assistant_id": "steps", "input": SHORT, "on_completion": "keep"}
    answer = await town.http.post("/runs/wait", json=body)
    thread = answer.headers["content-location"].split("/")[2]
    await asyncio.sleep(2)
    assert thread in await town.threads()


async def test_a_thread_that_is_used_again_is_no_longer_temporary(town):
    body = {"assistant_id": "steps", "input": SHORT}
    run = (await town.http.post("/runs", json=body)).json()
    again = await town.http.post(f"/threads/{run['thread_id']}/runs/wait", json=body)
    assert again.status_code == 200, again.text
    await asyncio.sleep(2)
    assert run["thread_id"] in await town.threads()


@pytest.mark.parametrize("asks", ["/runs/stream", "/runs/wait", "/threads/{}/runs/stream"])
async def test_a_client_that_leaves_stops_its_run_when_it_asked_for_that(town, asks):
    before = set(await town.threads())
    thread = (await town.http.post("/threads", json={})).json()["thread_id"]
    path = asks.format(thread)
    body = {"assistant_id": "steps", "input": LONG, "on_disconnect": "cancel"}
    if not path.startswith("/threads"):
        body["on_completion"] = "keep"
    asking = asyncio.create_task(town.http.post(path, json=body))

    async def the_run() -> Any:
        for one in set(await town.threads()) - before:
            for run in await town.rig.runs.list_of_thread(UUID(one), owner=ALICE):
                return run
        return None

    async def is_running() -> bool:
        run = await the_run()
        return run is not None and run.status == "running"

    await town.until(is_running)
    asking.cancel()

    async def is_cancelled() -> bool:
        return (await the_run()).status == "cancelled"

    await town.until(is_cancelled)


async def asked(town) -> tuple[str, dict[str, str]]:
    """A thread with two open questions, by their words."""
    thread = (await town.http.post("/threads", json={})).json()["thread_id"]
    body = {"assistant_id": "answering", "input": {"items": ["hi"]}}
    values = (await town.http.post(f"/threads/{thread}/runs/wait", json=body)).json()
    return thread, {q["value"]["question"]: q["id"] for q in values["__interrupt__"]}


async def test_answers_in_parts_make_one_run_and_execute_nothing_twice(town):
    thread, ids = await asked(town)
    path = f"/threads/{thread}/runs/wait"
    part = {"assistant_id": "answering", "command": {"resume": {ids["left?"]: "a"}}}
    for _ in range(2):  # asked again, it is the same answer
        values = (await town.http.post(path, json=part)).json()
        assert [q["id"] for q in values["__interrupt__"]] == [ids["right?"]]
    last = {"assistant_id": "answering", "command": {"resume": {ids["right?"]: "b"}}}
    values = (await town.http.post(path, json=last)).json()
    assert sorted(values["items"][1:]) == ["left: a", "right: b"]
    runs = await town.rig.runs.list_of_thread(UUID(thread), owner=ALICE)
    assert len(runs) == 2  # the one that asked, and the one with both answers
    assert sorted(await town.rig.journal(thread)) == ["left answered", "right answered"]


async def test_the_stream_of_a_part_says_what_is_still_open(town):
    thread, ids = await asked(town)
    body = {"assistant_id": "answering", "command": {"resume": {ids["left?"]: "a"}}}
    events = await town.stream(f"/threads/{thread}/runs/stream", body)
    assert [name for name, _ in events] == ["metadata", "values"]
    assert [q["id"] for q in events[1][1]["__interrupt__"]] == [ids["right?"]]


@pytest.mark.parametrize("step", [{"update": {"items": ["x"]}}, {"goto": "left"}])
async def test_a_step_by_hand_with_a_part_of_the_answers_is_refused_in_a_sentence(town, step):
    thread, ids = await asked(town)
    command = {"resume": {ids["left?"]: "a"}, **step}
    body = {"assistant_id": "answering", "command": command}
    answer = await town.http.post(f"/threads/{thread}/runs", json=body)
    assert answer.status_code == 422
    assert "every open question" in answer.text
    assert await town.rig.answers.saved(UUID(thread), owner=ALICE) == {}
    assert len(await town.rig.runs.list_of_thread(UUID(thread), owner=ALICE)) == 1
