"""Worker processes that do research and die at chosen points, under a supervisor.

`python research_workers.py DATABASE FOLDER COUNT`: forks workers until its input closes; one that
dies is replaced. A question of the form `… kill=NODE:WHEN` kills the worker, by SIGKILL, the first
time its run comes there. What was read is written to FOLDER/reads, who died to FOLDER/deaths.
"""

import asyncio
import json
import logging
import os
import re
import select
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from bathysphere.agents.research import ResearchConfig, spec
from bathysphere.agents.research.nodes.auditor import Auditor
from bathysphere.agents.research.nodes.executor import Executor
from bathysphere.agents.research.nodes.gate import Gate
from bathysphere.agents.research.nodes.router import Router
from bathysphere.agents.research.nodes.synthesizer import Synthesizer
from bathysphere.agents.research.nodes.thinker import Thinker
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.engine.database.pool import Database
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.harness.build import build
from bathysphere.models.demo.model import DemoTourModel
from bathysphere.models.resolve import Models
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import open_services, open_worker
from bathysphere.tools.search.contract import SearchResult

NODES = {
    "router": Router,
    "thinker": Thinker,
    "auditor": Auditor,
    "hitl_gate": Gate,
    "tool_executor": Executor,
    "synthesizer": Synthesizer,
}
POINTS = [f"{node}:{when}" for node in NODES for when in ("before", "after")]
POINTS += ["read:2", "read:4"]
"""Before and after each node, and in the middle of a wave, after so many reads of the worker."""
WANTED = re.compile(r"kill=([\w:]+)")
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
PACE = WorkerOptions(
    concurrency=1, beat_seconds=0.5, stalled_after=3.0, recovery_seconds=0.3, poll_seconds=0.3
)


class StillClock:
    """A clock that always shows noon, so that two runs write the same report."""

    def now(self) -> datetime:
        return NOON

    def monotonic(self) -> float:
        return 0.0


class Pages:
    """Four pages; each read is recorded before and after."""

    tools: ClassVar = {"web_search": "words", "fetch_page": "an address"}

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        self._read(f"search {query}")
        return [SearchResult(f"https://sea.example/{n}", f"Page {n}") for n in range(4)][:limit]

    async def fetch(self, url: str, may_visit, requester=None) -> object:
        assert may_visit(url) is None
        number = int(url.rsplit("/", 1)[1])
        await asyncio.sleep(0.4 * number)  # the one before it is written down by then
        self._read(f"fetch {url}")
        text = f"The bathysphere reached a depth of {900 + number} metres on dive {number}."
        return take_snapshot(url, text.encode(), text, fetched_at=NOON, title=f"Page {number}")

    async def corpus(self, query: str, limit: int) -> list[object]:
        raise NotImplementedError

    def _read(self, what: str) -> None:
        die_at(self._folder, CURRENT["question"], f"read:{CURRENT['reads']}")
        CURRENT["reads"] += 1
        with (self._folder / "reads").open("a", encoding="utf-8") as file:
            file.write(json.dumps([CURRENT["question"], what]) + "\n")


CURRENT: dict = {}
"""The run of this worker: it does one at a time."""


def die_at(folder: Path, question: str, point: str) -> None:
    """Die here if the question says so, unless a worker already did."""
    wanted = WANTED.search(question)
    if wanted is None or wanted.group(1) != point:
        return
    try:
        (folder / f"died-{point.replace(':', '-')}").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(folder: Path) -> None:
    """Make it possible to die before and after every node."""
    for name, node in NODES.items():
        inner = node.run

        async def run(self, state, runtime, *, inner=inner, name=name):
            question = state.get("user_query") or ""
            if CURRENT.get("question") != question:
                CURRENT.update(question=question, reads=0)
            die_at(folder, CURRENT["question"], f"{name}:before")
            update = await inner(self, state, runtime)
            die_at(folder, CURRENT["question"], f"{name}:after")
            return update

        node.run = run


def graph(folder: Path):
    model = DemoTourModel()
    config = ResearchConfig(
        sources=Pages(folder),
        key=b"k" * 32,
        clock=StillClock(),
        options=ResearchOptions(rounds=1, pages=4),
    )
    models = Models(main=model, subagent=model, summary=model, audit=model)
    return build(spec(models=models, config=config))


async def work(url: str, folder: Path) -> None:
    graphs = Graphs({"research": lambda: graph(folder)})
    async with open_services(database=Database(url=url, max_size=4), graphs=graphs) as services:
        limits = Limits(attempts=50, losses=50, retry_seconds=0.2)
        worker = await open_worker(services, metrics=Metrics(), limits=limits, options=PACE)
        await worker.run()


def fork(url: str, folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(work(url, folder))
    finally:
        os._exit(1)


def main(url: str, folder: Path, count: int) -> None:
    deadly(folder)
    alive = {fork(url, folder) for _ in range(count)}
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            alive.discard(pid)
            with (folder / "deaths").open("a", encoding="utf-8") as file:
                file.write(f"{os.waitstatus_to_exitcode(status)}\n")
            alive.add(fork(url, folder))
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
