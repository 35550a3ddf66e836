"""Isolation campaign: two tenants, three users and a stranger call every route at random.

`make fuzz-tenants` runs it. First everyone calls every route, for their own and for others'
resources; then steps are drawn at random. Everything a user writes carries their name; a name in a
response to another user, in another tenant's rows or in another tenant's objects is a leak, and so
is any success with a resource of someone else. Time passes, too: streams, ids and keys are kept
over deletion, re-creation, revocation and handover (`kept.py`). Then the same under a project's own
`Auth` handlers (`project_campaign.py`). At the end faults are planted one by one (`planted.py`),
and each must be found; `--only-planted` does only that. Processes share the work, each with its own
seed and database. The last line is JSON: `steps`, `leaks`, `planted`,
`planted_caught`.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "integration" / "server"))

from kept import HEARTBEAT, Keys, TimeSteps, directory
from planted import FAULTS, planted
from remembered import remembering
from test_walls import ASKED, BROWSER, INITIALIZE, KEY, MCP, NAMED, OPEN, PAID, PUSH, routes
from workspace_town import Town, drop, open_town, own_database

from bathysphere.backends.object_store import BucketConfig
from bathysphere.server.identity import once

BUCKET = BucketConfig(kind="memory")
PEOPLE = ("acme/ada", "acme/bob", "zenith/eve")
STRANGER = None
WAITS = 0.3
"""Seconds for a call whose stream may have no end."""

RUN = {"assistant_id": "plain", "input": {"items": ["{mark}"]}}
CRON = {**RUN, "schedule": "0 0 1 1 *", "metadata": {"of": "{mark}"}}
OPENLY: dict[tuple[str, str], dict[str, Any]] = {
    ("GET", "/ok"): {},
    ("GET", "/info"): {},
    ("GET", "/sign-in"): {},
    ("GET", "/verify"): {},
    ("GET", "/docs"): {},
    ("GET", "/shared/{share_id}"): {},
    ("POST", "/assistants"): {
        "json": {"graph_id": "plain", "name": "{mark}", "metadata": {"of": "{mark}"}}
    },
    ("GET", "/models"): {},
    ("GET", "/mcp-servers"): {},
    ("GET", "/payments"): {},
    ("GET", "/push"): {},
    ("PUT", "/push/subscription"): {
        "json": {**BROWSER, "endpoint": "https://push.example.com/{mark}"}
    },
    ("POST", "/api/model/load"): {"json": {}},
    ("POST", "/api/pages"): {"json": {"url": "http://127.0.0.1/{mark}"}},
    ("POST", "/threads"): {"json": {"metadata": {"of": "{mark}"}}},
    ("POST", "/runs"): {"json": RUN},
    ("POST", "/runs/batch"): {"json": [RUN]},
    ("POST", "/runs/crons"): {"json": CRON},
    ("POST", "/runs/wait"): {"json": RUN},
    ("POST", "/runs/stream"): {"json": RUN},
    ("PUT", "/store/items"): {
        "json": {"namespace": ["notes"], "key": "k", "value": {"text": "{mark}"}}
    },
    ("PUT", "/memories"): {"json": {"is_on": True}},
    ("PUT", "/memories/{note}"): {"json": {"text": "{mark}"}},
}
"""What only makes something new of the caller's own, with a request for each."""
CASES = {**NAMED, **ASKED, **OPENLY}
FREE = {("GET", "/ok"), ("GET", "/info"), ("GET", "/verify"), ("GET", "/payments")}
FREE |= {("GET", "/sign-in"), ("GET", "/shared/{share_id}")}
"""What a stranger may ask."""
METHODS = ("PUT", "GET", "POST", "PATCH", "DELETE")
"""Their order when every route is called: what is removed first could not be read by anybody."""
NOTHING = "00000000-0000-4000-8000-000000000000"
ENDLESS = ("/stream/events", "/stream", "/join", "/wait", "/runs/stream", "/runs/wait")


class State(TypedDict, total=False):
    items: Annotated[list[str], lambda old, new: old + new]


def plain() -> Any:
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"items": state.get("items", [])[-1:]})
    builder.add_edge(START, "node")
    return builder.compile()


@dataclass
class Belongings:
    """The resources of one user, by path parameter."""

    mark: str
    files_mark: str
    ids: dict[str, list[str]] = field(default_factory=dict)
    questions: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, value: Any) -> None:
        if value:
            kept = self.ids.setdefault(name, [])
            kept.append(str(value))
            del kept[:-12]


class Campaign:
    """The steps, and the leaks that were found."""

    routes: Collection[tuple[str, str]] = CASES

    def __init__(self, town: Town, seed: int) -> None:
        self.town = town
        self.dice = random.Random(seed)
        self.people = {
            name: Belongings(
                mark=f"MARK-{name.replace('/', '-')}",
                files_mark=f"FILES-{name.partition('/')[0]}",
            )
            for name in PEOPLE
        }
        self.steps = 0
        self.leaks: list[str] = []
        self.statuses: Counter[str] = Counter()
        self.covered: set[tuple[str, str, str]] = set()
        self.board = "ada"
        self.keys = Keys()
        town.app.state.identify = once(self.keys.identify)
        town.app.state.heartbeat_seconds = HEARTBEAT
        object.__setattr__(town.services.workspaces, "directory", directory("ada"))
        self.time = TimeSteps(self)

    # ── resources of users ──

    async def furnish(self, name: str) -> None:
        """Create a thread with a run and a checkpoint, an item, a file and a change."""
        mine = self.people[name]
        thread = await self.call(name, ("POST", "/threads"), name)
        place = f"/threads/{thread.json()['thread_id']}"
        await self.town.call(name, "POST", f"{place}/payments", json={"refund_key": KEY})
        run = {"assistant_id": "plain", "input": {"items": [mine.mark]}}
        made = await self.town.call(name, "POST", f"{place}/runs", json=run)
        mine.add("run_id", made.json().get("run_id"))
        await self.town.call(name, "POST", f"{place}/runs/wait", json=run)
        state = (await self.town.call(name, "GET", f"{place}/state")).json()
        mine.add("checkpoint_id", (state.get("checkpoint") or {}).get("checkpoint_id"))
        await self.call(name, ("PUT", "/store/items"), name)
        await self.call(name, ("POST", "/assistants"), name)
        await self.open_mcp_session(name)
        await self.call(name, ("POST", "/runs/crons"), name)
        tenant = name.partition("/")[0]
        self.town.bucket.put(f"{tenant}/main/secret.md", mine.files_mark.encode())
        await self.agent_step(name, name, force="write_file")
        await self.answer_step(name, name)
        changes = await self.town.call(name, "GET", "/workspaces/main/changes")
        for change in changes.json()["changes"]:
            mine.add("change_id", change["change_id"])
        mine.add("workspace", "main")
        if name == "acme/ada":
            self.town.bucket.put("acme/board/secret.md", b"FILES-board-ada")
            mine.add("workspace", "board")

    async def open_mcp_session(self, name: str) -> None:
        accept = {"accept": MCP["accept"]}
        opened = await self.town.call(name, "POST", "/mcp", json=INITIALIZE, headers=accept)
        self.people[name].ids["mcp_session"] = [opened.headers["mcp-session-id"]]

    # ── steps ──

    async def everywhere(self, most: int, *, until_leak: bool = False) -> None:
        """Call every route as everyone, for everyone's resources."""
        for case in sorted(self.routes, key=lambda case: (METHODS.index(case[0]), case)):
            for caller in (*PEOPLE, STRANGER):
                for whose in PEOPLE:
                    if self.steps >= most or (until_leak and self.leaks):
                        return
                    await self.call(caller, case, whose)

    async def begin(self, *, until_leak: bool = False) -> None:
        """Furnish everyone, check what no single call shows, then call everything once."""
        for name in PEOPLE:
            await self.furnish(name)
        await self.check_first()
        await self.everywhere(self.steps + 12 * len(self.routes), until_leak=until_leak)

    async def check_first(self) -> None:
        """Check what depends on the order of calls."""
        await self.time.all()

    async def anything(self) -> None:
        """Run a random step."""
        caller = self.dice.choice((*PEOPLE, *PEOPLE, STRANGER))
        whose = self.dice.choice(PEOPLE)
        kind = self.dice.random()
        if kind < 0.06 and caller is not None:
            await self.agent_step(caller, whose)
        elif kind < 0.12:
            await self.answer_step(caller, whose)
        elif kind < 0.16:
            await self.time.any()
        else:
            await self.call(caller, self.dice.choice(sorted(CASES)), whose)

    async def call(self, caller: str | None, case: tuple[str, str], whose: str) -> Any:
        """Send one request of the table, for resources of `whose`."""
        method, path = case
        is_own = caller == whose
        await self.forget_what_is_gone(whose)
        request = self.filled(CASES[case], path, caller, whose)
        place = request.pop("path")
        self.covered.add((*case, "own" if is_own else "other" if caller else "stranger"))
        answer = await self.send(caller, method, place, request, case=case, is_own=is_own)
        if case == ("DELETE", "/mcp") and caller is not None and is_own:
            await self.open_mcp_session(caller)
        return answer

    async def forget_what_is_gone(self, whose: str) -> None:
        """Forget what was deleted: whoever uses the id next creates their own."""
        tenant, _, user = whose.partition("/")
        theirs = self.people[whose].ids
        async with self.town.services.pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT thread_id::text FROM engine.threads"
                " WHERE tenant = %s AND owner = %s AND thread_id = ANY(%s::uuid[])",
                (tenant, user, theirs.get("thread_id", [])),
            )
            there = {row["thread_id"] for row in await cursor.fetchall()}
            cursor = await connection.execute(
                "SELECT assistant_id::text FROM engine.assistants WHERE tenant = %s AND owner = %s",
                (tenant, user),
            )
            assistants = [row["assistant_id"] for row in await cursor.fetchall()]
        theirs["assistant"] = assistants[-12:]
        theirs["thread_id"] = [one for one in theirs.get("thread_id", []) if one in there]
        if not theirs["thread_id"]:
            body = {"metadata": {"of": self.people[whose].mark}}
            made = await self.town.call(whose, "POST", "/threads", json=body)
            theirs["thread_id"] = [made.json()["thread_id"]]

    def filled(
        self, case: dict[str, Any], path: str, caller: str | None, whose: str
    ) -> dict[str, Any]:
        theirs, mark = self.people[whose].ids, self.people[caller].mark if caller else "MARK-nobody"
        values = {
            "mark": mark,
            "namespace": "node",
            "snapshot_id": "0" * 24,
            "share_id": "0" * 43,
            "note": "k",
        }
        names = ("thread_id", "run_id", "cron_id", "checkpoint_id", "workspace", "change_id")
        for name in (*names, "assistant", "mcp_session"):
            known = theirs.get(name)
            values[name] = (
                self.dice.choice(known) if known else "00000000-0000-4000-8000-000000000000"
            )
        if caller != whose and caller is not None:
            # The tenant's main workspace is shared; the board belongs to one person at a time.
            has_board = whose == f"acme/{self.board}"
            values["workspace"] = "board" if has_board else "nowhere"
        elif values["workspace"] == "board" and caller != f"acme/{self.board}":
            values["workspace"] = "main"
        if not values["change_id"].isdigit():
            values["change_id"] = "1"
        content = case.get("content")
        text = json.dumps({"path": path, **{k: v for k, v in case.items() if k != "content"}})
        text = text.replace('"items": ["x"]', '"items": ["{mark}"]')
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        found: dict[str, Any] = json.loads(text)
        return found | ({"content": content} if content is not None else {})

    async def agent_step(self, caller: str, whose: str, force: str | None = None) -> None:
        """Send a message to the agent, in a workspace of `whose`."""
        mine, tenant = self.people[caller], whose.partition("/")[0]
        commands = {
            "read_file": {
                "file_path": self.dice.choice(["/secret.md", "/../../acme/main/secret.md"])
            },
            "grep": {"pattern": "FILES"},
            "glob": {"pattern": "**/*"},
            "ls": {"path": self.dice.choice(["/", "/..", "//", "/%2e%2e"])},
            "write_file": {
                "file_path": f"/{mine.files_mark}-{self.dice.randrange(9)}.md",
                "content": f"{mine.files_mark} {self.dice.random()}",
            },
        }
        tool = force or self.dice.choice(sorted(commands))
        words = [{"role": "user", "content": f"{tool} {json.dumps(commands[tool])}"}]
        body: dict[str, Any] = {"messages": words}
        body |= (
            self.dice.choice(
                [
                    {"workspace": "main"},
                    {"config": {"configurable": {"gcs_root_path": f"/{tenant}/main/"}}},
                ]
            )
            if force is None
            else {"workspace": "main"}
        )
        is_own = caller.partition("/")[0] == tenant or "workspace" in body
        answer = await self.send(
            caller, "POST", "/api/agent", {"json": body}, case=("POST", "/api/agent"), is_own=is_own
        )
        if answer is not None and answer.status_code == 200:
            found = answer.json()
            mine.add("thread_id", found["thread_id"])
            for question in found["interrupts"]:
                mine.questions.append((found["thread_id"], question["id"]))
                del mine.questions[:-8]

    async def answer_step(self, caller: str | None, whose: str) -> None:
        """Answer a question that `whose` was asked."""
        theirs = self.people[whose].questions
        if not theirs:
            return
        thread, question = self.dice.choice(theirs)
        if caller == whose:
            theirs.remove((thread, question))
        resume = {question: {"type": self.dice.choice(["approve", "reject"])}}
        if caller == whose:
            resume[question]["type"] = "approve"
        body = {"thread_id": thread, "resume": resume}
        await self.send(
            caller,
            "POST",
            "/api/agent",
            {"json": body},
            case=("POST", "/api/agent"),
            is_own=caller == whose,
            is_named=True,
        )

    # ── one request, and its checks ──

    async def send(
        self,
        caller: str | None,
        method: str,
        path: str,
        request: dict[str, Any],
        *,
        case: tuple[str, str],
        is_own: bool,
        is_named: bool | None = None,
    ) -> Any:
        self.steps += 1
        is_endless = path.endswith(ENDLESS) or (method, path) == ("GET", "/mcp")
        waits = WAITS if is_endless else 30
        headers = request.pop("headers", {})
        if caller:
            headers["x-user"] = caller
        try:
            answer = await asyncio.wait_for(
                self.town.client.request(method, path, headers=headers, **request), waits
            )
        except TimeoutError:
            self.statuses["open stream"] += 1
            if not is_own and case in NAMED:
                self.leak(caller, method, path, "a stream of somebody else's stayed open")
            return None
        self.statuses[str(answer.status_code)] += 1
        self.look(caller, method, path, case, answer, is_own=is_own, is_named=is_named)
        self.learn(caller, case, answer)
        return answer

    def look(
        self,
        caller: str | None,
        method: str,
        path: str,
        case: tuple[str, str],
        answer: Any,
        *,
        is_own: bool,
        is_named: bool | None,
    ) -> None:
        status = answer.status_code
        if status >= 500:
            self.leak(caller, method, path, f"the server failed: {answer.text[:200]}")
        if caller is None and case not in FREE and status != 401:
            self.leak(caller, method, path, f"a stranger got {status}")
        named = case in NAMED if is_named is None else is_named
        if caller is not None and named and not is_own and status not in (403, 404):
            self.leak(caller, method, path, f"somebody else's was answered with {status}")
        for mark in self.foreign(caller):
            if mark in answer.text:
                self.leak(caller, method, path, f"the answer holds {mark}")

    def foreign(self, caller: str | None) -> list[str]:
        marks = [p.mark for name, p in self.people.items() if name != caller]
        tenant = caller.partition("/")[0] if caller else None
        marks += [f"FILES-{t}" for t in ("acme", "zenith") if t != tenant]
        return marks + (["FILES-board-ada"] if caller != f"acme/{self.board}" else [])

    def learn(self, caller: str | None, case: tuple[str, str], answer: Any) -> None:
        if (
            caller is None
            or answer.status_code >= 300
            or case
            not in (
                ("POST", "/threads"),
                ("POST", "/runs"),
                ("POST", "/threads/{thread_id}/runs"),
                ("POST", "/runs/crons"),
                ("POST", "/threads/{thread_id}/runs/crons"),
                ("POST", "/threads/{thread_id}/copy"),
                ("POST", "/assistants"),
            )
        ):
            return
        found = answer.json()
        if case == ("POST", "/assistants"):
            self.people[caller].add("assistant", found["assistant_id"])
            return
        self.people[caller].add("thread_id", found.get("thread_id"))
        self.people[caller].add("run_id", found.get("run_id"))
        self.people[caller].add("cron_id", found.get("cron_id"))

    async def check_what_is_kept(self) -> None:
        """Check that a tenant's rows and objects contain only that tenant's marks."""
        tenants = {"acme": ["zenith"], "zenith": ["acme"]}
        async with self.town.services.pool.connection() as connection:
            for table in (
                *("engine.threads", "engine.runs", "engine.crons", "engine.file_changes"),
                *("engine.assistants", "engine.assistant_versions", "engine.message_texts"),
                "engine.shares",
            ):
                cursor = await connection.execute(f"SELECT tenant, t::text AS row FROM {table} t")
                for row in await cursor.fetchall():
                    for other in tenants[row["tenant"]]:
                        if f"MARK-{other}" in row["row"] or f"FILES-{other}" in row["row"]:
                            self.leaks.append(f"{table} of {row['tenant']} holds {other}'s")
        for tenant, others in tenants.items():
            for meta in self.town.bucket.listing(tenant).metas:
                data = self.town.bucket.get(meta.key)
                for other in others:
                    if data is not None and f"FILES-{other}".encode() in data.data:
                        self.leaks.append(f"{meta.key} holds {other}'s")

    def leak(self, caller: str | None, method: str, path: str, what: str) -> None:
        self.leaks.append(f"step {self.steps}: {caller} {method} {path}: {what}")


def open_own_town(database: Any) -> AbstractAsyncContextManager[Town]:
    """Open a server with accounts in which agents run without payment."""
    return open_town(
        database,
        BUCKET,
        {"plain": plain, "remembering": remembering},
        is_charged=False,
        payments=PAID,
        push=PUSH,
    )


async def campaign(
    database: Any, *, steps: int, seed: int, kind: type[Campaign] = Campaign
) -> Campaign:
    """Run the campaign on its own server."""
    async with open_own_town(database) as town:
        found = kind(town, seed)
        await found.begin()
        while found.steps < steps:
            await found.anything()
        await found.check_what_is_kept()
        return found


async def caught(
    database: Any,
    names: list[str],
    *,
    seed: int,
    kind: type[Campaign] = Campaign,
    plant: Callable[[str], AbstractContextManager[None]] = planted,
) -> dict[str, str | None]:
    """Run a short campaign with each fault; return its first leak, or None."""
    leaks: dict[str, str | None] = {}
    async with open_own_town(database) as town:
        for name in names:
            with plant(name):
                found = kind(town, seed)
                await found.begin(until_leak=True)
            leaks[name] = found.leaks[0] if found.leaks else None
    return leaks


def check_cases() -> None:
    """Fail before anything runs if a route has no case here."""
    assert set(OPENLY) == OPEN
    assert set(CASES) == routes(), set(CASES) ^ routes()


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of one process: random steps, then the faults it plants."""

    steps: int
    seed: int
    faults: list[str]


@dataclass(kw_only=True)
class Findings:
    """The findings of all processes."""

    steps: int = 0
    leaks: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    covered: set[tuple[str, str, str]] = field(default_factory=set)
    faults: dict[str, str | None] = field(default_factory=dict)

    def add(self, other: "Findings") -> None:
        self.steps += other.steps
        self.leaks += other.leaks
        self.statuses += other.statuses
        self.covered |= other.covered
        self.faults |= other.faults


def project() -> Any:
    """The campaign under a project's own handlers, which is made of this one."""
    import project_campaign

    return project_campaign


def in_project(database: Any, part: Part) -> Findings:
    """A tenth of the steps, under a project's own handlers."""
    steps = part.steps // 10
    found = asyncio.run(project().campaign(database, steps=steps, seed=part.seed))
    leaks = [f"seed {part.seed}, project, {leak}" for leak in found.leaks]
    return Findings(steps=found.steps, statuses=found.statuses, leaks=leaks)


def run_part(part: Part) -> Findings:
    """Run a part of the campaign on its own database."""
    findings, database = Findings(), own_database()
    try:
        if part.steps:
            found = asyncio.run(campaign(database, steps=part.steps, seed=part.seed))
            findings.steps, findings.statuses = found.steps, found.statuses
            findings.covered = found.covered
            findings.leaks = [f"seed {part.seed}, {leak}" for leak in found.leaks]
            findings.add(in_project(database, part))
        own = [name for name in part.faults if name in FAULTS]
        findings.faults |= asyncio.run(caught(database, own, seed=part.seed))
        of_project = [name for name in part.faults if name not in FAULTS]
        if of_project:
            found_there = project().caught(database, of_project, seed=part.seed)
            findings.faults |= asyncio.run(found_there)
    finally:
        drop(database)
    return findings


def parts_of(args: argparse.Namespace) -> list[Part]:
    """Split the work equally; a part can be repeated with its seed and `--processes 1`."""
    is_whole = args.only_planted is None
    known = [*FAULTS, *project().FAULTS]
    faults = [name for name in known if is_whole or args.only_planted in name]
    steps = -(-args.steps // args.processes) if is_whole else 0
    return [
        Part(steps=steps, seed=args.seed + number, faults=faults[number :: args.processes])
        for number in range(args.processes)
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only-planted",
        nargs="?",
        const="",
        metavar="WORDS",
        help="skip the campaign; plant the faults, or those with WORDS in their name",
    )
    return parser.parse_args()


def main() -> int:
    args = arguments()
    check_cases()
    started, findings = time.monotonic(), Findings()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=spawn) as pool:
        for part in pool.map(run_part, parts_of(args)):
            findings.add(part)
    seconds = time.monotonic() - started
    for name, leak in findings.faults.items():
        sys.stdout.write(f"planted {name}: {leak or 'NOT FOUND'}\n")
    for leak in findings.leaks[:50]:
        sys.stdout.write(f"{leak}\n")
    result = {
        "steps": findings.steps,
        "leaks": len(findings.leaks),
        "planted": len(findings.faults),
        "planted_caught": sum(leak is not None for leak in findings.faults.values()),
        "routes": len(CASES),
        "covered": len(findings.covered),
        "statuses": dict(findings.statuses),
        "seed": args.seed,
        "processes": args.processes,
        "seconds": round(seconds, 1),
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 1 if findings.leaks or None in findings.faults.values() else 0


if __name__ == "__main__":
    sys.exit(main())
