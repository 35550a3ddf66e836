"""Fault campaign for interrupts: seeded schedules of people who answer in every possible way.

    python tests/faults/interrupts_campaign.py --schedules 1000 --seed 1

Each schedule is a thread of the agents in `interrupts_agent.py`, which ask for files, text, choices
and approvals, several at a time, in the main agent and in two subagents. A person answers over HTTP
as drawn by `interrupts_plans.py`, and sends new messages in between. The engine, its worker, the
server's commands and PostgreSQL are real. Then all open questions are answered, and the thread is
judged by what the model saw and which tool bodies ran.

The last line is JSON: `schedules`, `lost`, `wedged`, `misdelivered`, and their details.
"""

import argparse
import asyncio
import json
import random
import sys
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).parent))

import httpx
from engine_rig import QUICK, own_database
from interrupts_agent import GRAPH, World, agent
from interrupts_judge import Story, Tally, judge, say
from interrupts_person import Answer, Question, bad, good
from interrupts_plans import Action, Schedule, draw
from progress import Progress
from starlette.requests import HTTPConnection

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.executor import Limits
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import Services, open_services, open_worker

AT_ONCE = 12
PATIENCE = 180.0  # seconds until a thread's runs must have ended; many are active at once
BOUND = 600.0  # seconds for a whole schedule
ROUNDS = 40  # of questions and answers until a thread must be idle
OWNER = Owner(tenant="torture", user="person")


@dataclass(kw_only=True)
class Ground:
    """Services that all schedules share."""

    world: World
    services: Services
    http: httpx.AsyncClient
    tally: Tally = field(default_factory=Tally)
    busy: dict[UUID, bool] = field(default_factory=dict)
    moved: dict[UUID, float] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Questions of all threads, for those who answer in the wrong one."""

    async def watch(self) -> None:
        """Poll for all schedules which threads are busy."""
        while True:
            await asyncio.sleep(0.04)
            looked = time.monotonic()
            async with self.services.pool.connection() as connection:
                rows = await (
                    await connection.execute(
                        "SELECT thread_id, status FROM engine.threads WHERE thread_id = ANY(%s)",
                        (list(self.busy),),
                    )
                ).fetchall()
            for row in rows:
                thread = row["thread_id"]
                if thread in self.busy and self.moved[thread] < looked:
                    self.busy[thread] = row["status"] == "busy"

    def move(self, thread: UUID) -> None:
        """Record that the person has started a run on the thread."""
        self.busy[thread], self.moved[thread] = True, time.monotonic()


@dataclass(kw_only=True)
class Play:
    """One schedule on its thread."""

    ground: Ground
    schedule: Schedule
    thread: UUID = field(default_factory=uuid4)
    story: Story = field(default_factory=Story)
    messages: int = 0
    carrier: str | None = None
    """The run that has the newest answers."""
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.schedule.seed)

    async def run(self) -> None:
        """Play the schedule, answer all open questions, and judge the thread."""
        world, key = self.ground.world, self.schedule.key
        world.plans |= self.schedule.plans
        try:
            await self.write()
            for action in self.schedule.actions:
                await self.act(action)
            await self.rest()
            await self.write(f"{key}.ping")
            await self.rest()
        except TimeoutError:
            self.story.wedged = f"not settled within {PATIENCE:.0f} s"
        self.story.failed = await self.failures()
        self.ground.busy.pop(self.thread, None)
        judge(self.ground.tally, self.schedule, self.story, world)

    # ── what the person does ──

    async def act(self, action: Action) -> None:
        if action.kind == "early":
            await asyncio.sleep(self.dice.uniform(0, 0.3))
        else:
            await self.settled()
        questions = await self.open()
        self.dice.shuffle(questions)
        await getattr(self, f"_{action.kind}")(questions, action)
        await asyncio.sleep(action.pause)

    async def _together(self, questions: list[Question], _: Action) -> None:
        await self.answer(questions)

    async def _one_by_one(self, questions: list[Question], action: Action) -> None:
        for question in questions:
            await self.answer([question])
            await asyncio.sleep(action.pause)

    async def _some(self, questions: list[Question], _: Action) -> None:
        for question in self.part(questions):
            await self.answer([question])

    async def _early(self, questions: list[Question], action: Action) -> None:
        await self._at_once(questions, action)

    async def _at_once(self, questions: list[Question], _: Action) -> None:
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(self.answer([question]))

    async def _twice(self, questions: list[Question], _: Action) -> None:
        async with asyncio.TaskGroup() as group:
            for question in questions * 2:
                group.create_task(self.answer([question]))
            group.create_task(self.answer(questions))

    async def _again(self, questions: list[Question], _: Action) -> None:
        await self.answer(self.part(questions))
        await self.settled()
        for question in self.dice.sample(self.story.asked, min(3, len(self.story.asked))):
            await self.answer([question])

    async def _stale(self, questions: list[Question], _: Action) -> None:
        for stale in self.strangers():
            await self.send({stale: {"response": "never"}}, must_fail=True)
        await self.answer(self.part(questions))

    async def _mixed(self, questions: list[Question], _: Action) -> None:
        for stale in self.strangers()[:1]:
            answers = [good(question, self.dice) for question in questions]
            values = {answer.question: answer.value for answer in answers}
            await self.send({**values, stale: {"response": "never"}}, must_fail=True)

    async def _malformed(self, questions: list[Question], _: Action) -> None:
        for question in questions:
            value = bad(question, self.dice)
            await self.send({question["id"]: value}, must_fail=question["id"])
        await self.answer(self.part(questions))

    async def _malformed_beside_good(self, questions: list[Question], _: Action) -> None:
        if not questions:
            return
        first, *others = questions
        answers = [good(question, self.dice) for question in others]
        values = {answer.question: answer.value for answer in answers}
        await self.send({**values, first["id"]: bad(first, self.dice)}, must_fail=first["id"])

    async def _stop(self, questions: list[Question], action: Action) -> None:
        await self.answer(questions)
        await asyncio.sleep(action.pause)
        if self.carrier is not None:
            self.story.was_stopped = True
            self.story.taken_back |= self.story.taken.keys()
            await self.ground.http.post(f"/threads/{self.thread}/runs/{self.carrier}/cancel")

    async def _message(self, questions: list[Question], action: Action) -> None:
        await self.answer_each(self.part(questions))
        await self.write(stops=action.stops)

    async def _message_at_once(self, questions: list[Question], action: Action) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.write(stops=action.stops))
            for question in questions:
                group.create_task(self.answer([question]))

    async def _message_then_answers(self, questions: list[Question], action: Action) -> None:
        mine, later = questions[::2], questions[1::2]
        await self.answer_each(mine)
        await self.write(stops=action.stops)
        await asyncio.sleep(action.pause)
        await self.answer_each(later)

    # ── requests ──

    def part(self, questions: list[Question]) -> list[Question]:
        return questions[: self.dice.randint(0, len(questions))]

    def strangers(self) -> list[str]:
        mine = {question["id"] for question in self.story.asked}
        others = [name for name in self.ground.asked[-200:] if name not in mine]
        return ["0" * 32, *self.dice.sample(others, min(1, len(others)))]

    async def answer_each(self, questions: list[Question]) -> None:
        for question in questions:
            await self.answer([question])

    async def answer(self, questions: list[Question]) -> bool:
        """Send valid answers; return whether the server accepted them, or had them already."""
        if not questions:
            return True
        answers = [good(question, self.dice) for question in questions]
        return await self.send({a.question: a.value for a in answers}, answers)

    async def send(
        self,
        values: dict[str, Any],
        answers: list[Answer] | None = None,
        *,
        must_fail: bool | str = False,
    ) -> bool:
        """Send answers; with `must_fail` they must be refused, unless it is an answered id."""
        parts = [{"interrupt_id": name, "response": value} for name, value in values.items()]
        params = parts[0] if len(parts) == 1 and self.dice.random() < 0.5 else {"responses": parts}
        told = await self.command("input.respond", params)
        taken = set(told["result"]["taken"]) if told["type"] == "success" else set()
        self.ground.tally.count(told, taken)
        if taken:
            self.carrier = told["result"].get("run_id")
            self.ground.move(self.thread)
        if must_fail and taken:
            self.story.wrongly_taken += sorted(taken)
        for answer in answers or ():
            (self.story.take if answer.question in taken else self.story.refuse)(answer)
        return told["type"] == "success"

    async def write(self, text: str | None = None, *, stops: bool = False) -> None:
        """Send a message from the person."""
        if text is None:
            text, self.messages = f"{self.schedule.key}.m{self.messages}", self.messages + 1
        params = {
            "assistant_id": GRAPH,
            "input": {"messages": [{"type": "human", "content": text}]},
            "multitask_strategy": "interrupt" if stops else "enqueue",
        }
        told = await self.command("run.start", params)
        assert told["type"] == "success", told
        self.ground.move(self.thread)
        if stops:
            self.story.was_stopped = True
        else:
            self.story.said.append(text)

    async def command(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"id": 1, "method": method, "params": params}
        while True:
            answer = await self.ground.http.post(f"/threads/{self.thread}/commands", json=body)
            if answer.status_code != 503:  # PostgreSQL is briefly unavailable: try again
                break
            await asyncio.sleep(0.2)
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    # ── state of the thread ──

    async def settled(self) -> None:
        """Wait until the thread has no active run."""
        async with asyncio.timeout(PATIENCE):
            while self.ground.busy.get(self.thread):  # noqa: ASYNC110  # the watch changes it
                await asyncio.sleep(0.02)

    async def open(self) -> list[Question]:
        """The thread's open questions."""
        answer = await self.ground.http.get(f"/threads/{self.thread}/state")
        assert answer.status_code == 200, answer.text
        questions: list[Question] = answer.json()["interrupts"]
        for question in questions:
            if self.story.meet(question):
                self.ground.asked.append(question["id"])
        return questions

    async def rest(self) -> None:
        """Answer all questions until none is open."""
        for _ in range(ROUNDS):
            await self.settled()
            questions = await self.open()
            if not questions:
                return
            await self.answer(questions)
        self.story.wedged = f"open and cannot be answered: {questions}"

    async def failures(self) -> list[str]:
        runs = await self.ground.services.runs.list_of_thread(self.thread, owner=OWNER)
        allowed = ("success", "interrupted", *(("cancelled",) if self.story.was_stopped else ()))
        return [f"{run.status} {run.error}" for run in runs if run.status not in allowed]


@asynccontextmanager
async def open_ground(database: Database) -> AsyncIterator[Ground]:
    """Run the engine, a worker and the server in this process."""

    async def identify(_: HTTPConnection) -> Owner:
        return OWNER

    world = World()
    graphs = Graphs({GRAPH: lambda: agent(world)})
    async with open_services(database=database, graphs=graphs) as services:
        worker = await open_worker(
            services,
            metrics=Metrics(),
            limits=Limits(retry_seconds=0.05),
            options=replace(QUICK, concurrency=AT_ONCE, stalled_after=30.0),
        )
        app = create_app(services=services, identify=identify)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://torture") as http:
            ground = Ground(world=world, services=services, http=http)
            working = asyncio.create_task(worker.run())
            watching = asyncio.create_task(ground.watch())
            try:
                yield ground
            finally:
                watching.cancel()
                worker.drain()
                await working


async def campaign(database: Database, *, schedules: list[int], seed: int) -> Tally:
    began = time.monotonic()
    turn = asyncio.Semaphore(AT_ONCE)
    async with open_ground(replace(database, max_size=24)) as ground:
        tally = ground.tally
        progress = Progress(
            summary=lambda: f"{tally.schedules}/{len(schedules)}, {tally.wrong} wrong", bound=BOUND
        )

        async def one(number: int) -> None:
            async with turn:
                try:
                    async with progress.schedule(number):
                        await Play(ground=ground, schedule=draw(seed, number)).run()
                except TimeoutError:
                    tally.wedged += 1
                    say(f"WEDGED {draw(seed, number)}: given up after {BOUND:.0f} s")

        async with progress.reported(), asyncio.TaskGroup() as group:
            for number in schedules:
                group.create_task(one(number))
        ground.tally.dangling = len(ground.world.dangling)
        for line in ground.world.dangling[:5]:
            say(f"DANGLING {line}")
    ground.tally.seconds = round(time.monotonic() - began)
    return ground.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", help="these schedules of the seed")
    options = parser.parse_args()
    # deepagents types its tools as if no run had a context; `serve` also hides its warnings.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    numbers = options.only or list(range(options.schedules))
    with own_database() as database:
        tally = asyncio.run(campaign(database, schedules=numbers, seed=options.seed))
    say(json.dumps(tally.line()))
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
