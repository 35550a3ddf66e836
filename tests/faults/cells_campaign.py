"""A tenant moves between two cells again and again while it is used: `make faults-cells`.

People of two tenants talk through the router: they start runs, follow their streams and read what
came of them, on threads that they keep for several runs. One tenant is moved there and back by the
command that operators use; some of these commands are killed and called again. Counted are runs
whose result is missing (`lost`) or has a step twice (`doubled`), requests that were refused, and
how long the tenant's requests waited. The last line is JSON.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import psycopg
from cells import Country, environment, two_cells
from stream_client import StreamClient
from tally import say

MOVED, STAYING = "acme", "bystander"
PEOPLE = {MOVED: 3, STAYING: 1}
RUNS_A_THREAD = 4
STEPS = 4
KILLED_EVERY = 5
PAUSE_GOAL = 5.0
RUN_SECONDS = 60


@dataclass(kw_only=True)
class Tally:
    """What the campaign has seen."""

    runs: int = 0
    streams: int = 0
    lost: int = 0
    doubled: int = 0
    rows_left: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    pauses: list[float] = field(default_factory=list)
    moves: int = 0
    moves_killed: int = 0
    slowest_request: float = 0.0
    reconnects: int = 0

    @property
    def refused(self) -> int:
        """Requests that were not answered as if nothing was."""
        return sum(count for code, count in self.codes.items() if code >= 300)

    @property
    def is_good(self) -> bool:
        is_whole = not (self.lost or self.doubled or self.refused or self.rows_left)
        return is_whole and max(self.pauses, default=99) <= PAUSE_GOAL

    def line(self) -> str:
        """One line of JSON."""
        ordered = sorted(self.pauses)
        return json.dumps(
            {
                "moves": self.moves,
                "lost": self.lost,
                "doubled": self.doubled,
                "pause_max_s": round(ordered[-1], 2),
                "pause_median_s": round(ordered[len(ordered) // 2], 2),
                "refused": self.refused,
                "rows_left": self.rows_left,
                "moves_killed": self.moves_killed,
                "runs": self.runs,
                "streams": self.streams,
                "reconnects": self.reconnects,
                "slowest_request_s": round(self.slowest_request, 2),
                "codes": dict(sorted(self.codes.items())),
            }
        )


class Person:
    """Someone who starts runs on a thread of their own, one after the other."""

    def __init__(self, country: Country, key: str, tally: Tally) -> None:
        self._tally = tally
        self._url = country.url
        self._http = httpx.AsyncClient(
            base_url=country.url,
            timeout=httpx.Timeout(30),
            headers={"x-api-key": key},
            limits=httpx.Limits(max_keepalive_connections=0),
            event_hooks={"response": [self._count]},
        )

    async def talk(self, until: asyncio.Event) -> None:
        """Go on until the campaign ends; the last thread is finished."""
        async with self._http:
            while not until.is_set():
                await self._use_thread(uuid4(), until)

    async def _use_thread(self, thread: UUID, until: asyncio.Event) -> None:
        wanted: list[str] = []
        runs: list[str] = []
        for number in range(RUNS_A_THREAD):
            if until.is_set():
                break
            name = f"r{number}"
            runs.append(await self._run(thread, name))
            wanted += [f"{name}:{step}" for step in range(STEPS)]
            if not await self._check(thread, wanted, runs):
                return

    async def _run(self, thread: UUID, name: str) -> str:
        """Start a run and follow it to its end; return its id."""
        body = {
            "assistant_id": "steps",
            "input": {"name": name, "count": STEPS},
            "if_not_exists": "create",
        }
        started = await self._call("POST", f"/threads/{thread}/runs", body)
        run: str = started["run_id"]
        self._tally.runs += 1
        client = StreamClient(
            http=self._http, thread=thread, addresses=lambda: [self._url], waits_for=[run]
        )
        try:
            async with asyncio.timeout(RUN_SECONDS):
                await client.read()
        except TimeoutError:
            say(f"STREAM {thread}: {client.story()}")
            self._tally.lost += 1
        self._tally.streams += 1
        self._tally.doubled += client.repeats
        self._tally.reconnects += client.connections - 1
        return run

    async def _check(self, thread: UUID, wanted: list[str], runs: list[str]) -> bool:
        """Compare the thread with what was asked of it."""
        state = await self._call("GET", f"/threads/{thread}/state")
        known = await self._call("GET", f"/threads/{thread}/runs")
        items = state["values"].get("items", [])
        missing, extra = Counter(wanted) - Counter(items), Counter(items) - Counter(wanted)
        ends = {run["run_id"]: run["status"] for run in known}
        unknown = sum(ends.get(run) != "success" for run in runs)
        self._tally.lost += missing.total() + unknown
        self._tally.doubled += extra.total() + len(ends.keys() - set(runs))
        is_right = items == wanted and not unknown and len(ends) == len(runs)
        if not is_right:
            say(f"WRONG {thread}: {items} instead of {wanted}; {ends}")
        return is_right

    async def _call(self, method: str, path: str, body: object = None) -> dict:
        """Send a request until it is answered: each is safe to send again."""
        headers = {"Idempotency-Key": uuid4().hex}
        began = time.monotonic()
        while True:
            try:
                answer = await self._http.request(method, path, json=body, headers=headers)
            except httpx.HTTPError as error:
                say(f"{method} {path}: {error!r}")
                self._tally.codes[599] += 1
                continue
            if answer.is_success:
                took = time.monotonic() - began
                self._tally.slowest_request = max(self._tally.slowest_request, took)
                return answer.json()
            say(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
            assert time.monotonic() - began < RUN_SECONDS, "the request is refused again and again"
            await asyncio.sleep(0.2)

    async def _count(self, response: httpx.Response) -> None:
        self._tally.codes[response.status_code] += 1


async def move_again_and_again(country: Country, tally: Tally, moves: int, seed: int) -> None:
    """Move the tenant there and back; every few moves, the command is killed once before."""
    chance = random.Random(seed)
    source, target = "a", "b"
    for number in range(1, moves + 1):
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        command = country.move_command(MOVED, source, target)
        if number % KILLED_EVERY == 0:
            await _kill_while_moving(command, chance)
            tally.moves_killed += 1
            await _move(command)  # how long it took says nothing of a move
        else:
            tally.pauses.append(await _move(command))
        tally.moves += 1
        say(f"{number}/{moves}: {tally.runs} runs, {tally.lost} lost, {tally.doubled} doubled")
        source, target = target, source


async def _move(command: tuple[str, ...]) -> float:
    """Move the tenant; return for how long its requests waited."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    found = re.search(r"waited for ([\d.]+) s", said.decode())
    assert found is not None, (command, said.decode(), errors.decode())
    return float(found[1])


async def _kill_while_moving(command: tuple[str, ...], chance: random.Random) -> None:
    """Begin to move the tenant, and kill the command as soon as the tenant is on its way."""
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(), stdout=asyncio.subprocess.DEVNULL
    )
    await asyncio.sleep(chance.uniform(1.0, 4.0))
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def count_rows_left(country: Country, home: str) -> int:
    """Rows of the tenant in the cell that does not have it."""
    [other] = country.databases.keys() - {home}
    with psycopg.connect(country.databases[other]) as connection:
        found = 0
        for table in ("engine.threads", "engine.runs", "identity.api_keys"):
            row = connection.execute(
                f"SELECT count(*) FROM {table} WHERE tenant = %s", (MOVED,)
            ).fetchone()
            found += row[0]
    return found


async def play(country: Country, *, moves: int, seed: int) -> Tally:
    """Let people talk while the tenant is moved; return what was seen."""
    tally = Tally()
    keys = {}
    for tenant in PEOPLE:
        country.admit(tenant, "a")
        keys[tenant] = country.create_key(tenant, "a")
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for tenant, count in PEOPLE.items():
            for _ in range(count):
                group.create_task(Person(country, keys[tenant], tally).talk(over))
        await move_again_and_again(country, tally, moves, seed)
        over.set()
    tally.rows_left = count_rows_left(country, "b" if moves % 2 else "a")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--moves", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, two_cells(Path(folder)) as country:
        tally = asyncio.run(play(country, moves=options.moves, seed=options.seed))
    say(tally.line())
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
