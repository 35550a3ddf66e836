"""Research with a worker killed at each node boundary: same report, each page read once."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from engine_rig import ALICE, own_database
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from research_workers import POINTS, graph

from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.engine.runs.service import NewRun
from bathysphere.server.process.services import open_services

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

QUESTION = "What depth did the bathysphere reach?"
WORKERS = 4
SECONDS = 150


@pytest.fixture
def database():
    with own_database() as found:
        yield found


@pytest.fixture
def workers(database, tmp_path):
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("research_workers.py"))]
    process = subprocess.Popen(
        [*command, database.url, str(tmp_path), str(WORKERS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    yield tmp_path
    process.stdin.close()
    process.wait(20)
    process.stdout.close()


class Office:
    """Starts runs, approves plans, waits for reports."""

    def __init__(self, services):
        self.graphs = services.graphs
        self.runs = services.runs
        self.answers = services.answers
        self.pool = services.pool

    async def research(self, question):
        """Research one question to its end; return the final state."""
        thread = uuid4()
        new = NewRun(thread_id=thread, graph="research", work=Work(input={"user_query": question}))
        run = (await self.runs.create(new, owner=ALICE)).run
        while True:
            ended = await self._ended(run)
            if ended.status != "interrupted":
                assert ended.status == "success", ended.error
                break
            pending = await self.answers.pending(thread, owner=ALICE, graph="research")
            words = {key: {"type": "approve"} for key in pending}
            run = (await self.answers.submit(thread, words, owner=ALICE, graph="research")).run
        bound = self.graphs.bind("research", checkpointer=AsyncPostgresSaver(self.pool))
        return (await bound.aget_state({"configurable": {"thread_id": str(thread)}})).values

    async def _ended(self, run):
        while not (now := await self.runs.get(run.run_id, owner=ALICE)).is_over:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return now


@pytest.mark.long("tests/faults/test_worker_loss.py::test_a_run_survives_the_death_of_its_worker")
async def test_killed_at_every_node_boundary_the_report_is_the_same_and_each_page_is_read_once(
    database, workers
):
    questions = [QUESTION, *(f"{QUESTION} kill={point}" for point in POINTS)]
    graphs = Graphs({"research": lambda: graph(workers)})
    async with open_services(database=database, graphs=graphs) as services:
        office = Office(services)
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
            tasks = [group.create_task(office.research(one)) for one in questions]
    states = [task.result() for task in tasks]
    assert [state["status"] for state in states] == ["complete"] * len(states)
    assert {path.name for path in workers.glob("died-*")} == {
        f"died-{point.replace(':', '-')}" for point in POINTS
    }
    deaths = (workers / "deaths").read_text().split()
    assert deaths == ["-9"] * len(POINTS)
    reads = Counter(
        tuple(json.loads(line)) for line in (workers / "reads").read_text().splitlines()
    )
    expected = {
        (question, what): 1
        for question in questions
        for what in reads_of(states[questions.index(question)])
    }
    assert reads == expected
    for state in states:
        assert state["report"]["quotes"]
        assert contents(state) == contents(states[0])


def reads_of(state):
    """The expected reads of a run: its searches, and each page once."""
    searches = [f"search {step['input']}" for step in state["plan"]["steps"]]
    return [*searches, *(f"fetch {source['url']}" for source in state["sources"])]


def contents(state):
    """The report without the question, which names the point of death."""
    report = state["report"]
    return (
        [(one["text"], one["status"]) for s in report["sections"] for one in s["claims"]],
        report["quotes"],
        [(one["number"], one["snapshot"]) for one in report["sources"]],
        report["tally"],
    )
