"""Streams, thread ids and keys that the two-tenant campaign keeps over time.

A stream stays open while its thread is deleted and created again by someone else, while its key is
revoked, while a workspace changes hands. Each step ends with a check of what was delivered;
everything found is added to the campaign's leaks.
"""

import asyncio
import secrets
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from open_stream import OpenStream
from remembered import remember_and_forget

from bathysphere.core.identity import Owner
from bathysphere.core.writers import thread_namespace
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.server.identity.identify import Unauthenticated
from bathysphere.tenancy.directory import Directory, Tenant
from bathysphere.tenancy.quota import Quota

HEARTBEAT = 0.05
GRACE = 0.6
"""Seconds in which a stream must have noticed: several heartbeats, on a busy machine."""
ALL = {"channels": ["values", "updates", "messages", "lifecycle", "custom", "tools", "input"]}


class Keys:
    """Credentials of the campaign: `x-user: tenant/user`, or `x-user: key` for a revocable one."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        self.revoked: set[str] = set()

    def issue(self, name: str) -> str:
        key = f"key-{secrets.token_hex(6)}"
        self.owners[key] = name
        return key

    def is_valid(self, key: str) -> bool:
        return key not in self.revoked

    async def identify(self, connection: Any) -> Owner:
        shown = connection.headers.get("x-user", "")
        if shown.startswith("key-"):
            shown = self.owners.get(shown, "") if self.is_valid(shown) else ""
        tenant, _, user = shown.partition("/")
        if not tenant or not user:
            raise Unauthenticated("Unknown key")
        return Owner(tenant=tenant, user=user)


@dataclass
class Kept:
    """A stream that is kept open."""

    stream: OpenStream
    caller: str


def directory(board: str) -> Directory:
    """Acme's workspaces: the board belongs to one person at a time."""
    return Directory(
        tenants={
            "acme": Tenant(
                workspaces={"main": None, "board": frozenset({board})},
                quota=Quota(objects=4000, runs=400),
            ),
            "zenith": Tenant(),
        }
    )


class TimeSteps:
    """The steps in which time passes. Each uses its own threads."""

    def __init__(self, campaign: Any) -> None:
        self.campaign = campaign
        self.town = campaign.town
        self.kept: list[Kept] = []
        self.graves: list[tuple[str, str]] = []
        self.steps = {
            "keep over deletion": self.keep_over_deletion,
            "keep the older stream over deletion": self.keep_older_stream_over_deletion,
            "keep over revocation": self.keep_over_revocation,
            "delete everything": self.delete_everything,
            "name the dead": self.name_the_dead,
            "take a living id": self.take_a_living_id,
            "hand the board over": self.hand_the_board_over,
            "use a revoked key": self.use_a_revoked_key,
            "history of the next owner": self.history_of_the_next_owner,
            "remember and forget": partial(remember_and_forget, self),
        }

    async def any(self) -> None:
        """Run one of them at random."""
        await self.steps[self.campaign.dice.choice(sorted(self.steps))]()

    async def all(self) -> None:
        """Run each of them once."""
        await self.keep_over_deletion(used=False)
        for step in self.steps.values():
            await step()

    # ── streams ──

    async def keep_over_deletion(self, *, used: bool | None = None) -> None:
        """Keep reading a deleted thread while someone else creates it again and writes."""
        first, second = self.two()
        thread = await self.thread_of(first)
        if self.campaign.dice.random() < 0.5 if used is None else used:
            await self.run(first, thread, self.mark(first))
        async with self.open(first, thread) as stream:
            await stream.opened()
            await self.call(first, "DELETE", f"/threads/{thread}")
            word = f"{self.mark(second)}-{secrets.token_hex(4)}"
            await self.make(second, thread)
            await self.run(second, thread, word)
            await asyncio.sleep(4 * HEARTBEAT)
            self.expect_absent(stream.text, [word, self.mark(second)], first, "a kept stream")
        self.graves.append((thread, first))
        del self.graves[:-20]

    async def keep_older_stream_over_deletion(self) -> None:
        """The same with the stream of the thread's runs."""
        first, second = self.two()
        thread = await self.thread_of(first)
        stream = OpenStream(
            self.town.app, "GET", f"/threads/{thread}/stream", headers={"x-user": first}
        )
        async with stream:
            await stream.opened()
            await self.call(first, "DELETE", f"/threads/{thread}")
            word = f"{self.mark(second)}-{secrets.token_hex(4)}"
            await self.make(second, thread)
            await self.run(second, thread, word)
            await asyncio.sleep(4 * HEARTBEAT)
            self.expect_absent(stream.text, [word, self.mark(second)], first, "a kept stream")

    async def keep_over_revocation(self) -> None:
        """Revoke a key while its stream is open; its owner continues with another."""
        (name,) = self.campaign.dice.sample(list(self.campaign.people), 1)
        keys = self.campaign.keys
        key, thread = keys.issue(name), await self.thread_of(name)
        async with self.open(key, thread) as stream:
            await stream.opened()
            keys.revoked.add(key)
            try:
                async with asyncio.timeout(GRACE):
                    await stream.is_over.wait()
            except TimeoutError:
                pass
            word = f"after-{secrets.token_hex(6)}"
            await self.run(name, thread, word)
            await asyncio.sleep(2 * HEARTBEAT)
            self.expect_absent(stream.text, [word], key, "a revoked key's stream")

    async def use_a_revoked_key(self) -> None:
        """A revoked key opens nothing."""
        (name,) = self.campaign.dice.sample(list(self.campaign.people), 1)
        keys = self.campaign.keys
        key, thread = keys.issue(name), await self.thread_of(name)
        before = await self.call(key, "GET", f"/threads/{thread}")
        keys.revoked.add(key)
        after = await self.call(key, "GET", f"/threads/{thread}")
        if (before.status_code, after.status_code) != (200, 401):
            statuses = f"{before.status_code}, {after.status_code}"
            self.leak(key, f"a key answered {statuses} before and after its end")

    # ── ids ──

    async def delete_everything(self) -> None:
        """After a deletion no table contains the thread's text."""
        (name,) = self.campaign.dice.sample(list(self.campaign.people), 1)
        word = f"buried-{secrets.token_hex(8)}"
        thread = await self.thread_of(name, title=word)
        await self.run(name, thread, word)
        cron = {"assistant_id": "plain", "schedule": "0 0 1 1 *", "input": {"items": [word]}}
        await self.call(name, "POST", f"/threads/{thread}/runs/crons", json=cron)
        owner = owner_of(name)
        store = OwnedStore(self.town.services.store, owner)
        space = (*thread_namespace(thread), "research", "snapshots")
        await store.aput(space, "source", {"text": word})
        await self.call(name, "DELETE", f"/threads/{thread}")
        for table in await self.tables_with(thread):
            self.leak(name, f"{table} still holds a deleted thread's rows")

    async def tables_with(self, thread: str) -> list[str]:
        queries = {
            "store": "SELECT 1 FROM store WHERE position(%(t)s IN prefix) > 0",
            "checkpoints": "SELECT 1 FROM checkpoints WHERE thread_id = %(t)s",
            "checkpoint_blobs": "SELECT 1 FROM checkpoint_blobs WHERE thread_id = %(t)s",
            "checkpoint_writes": "SELECT 1 FROM checkpoint_writes WHERE thread_id = %(t)s",
            "engine.crons": "SELECT 1 FROM engine.crons WHERE thread_id::text = %(t)s",
            "engine.runs": "SELECT 1 FROM engine.runs WHERE thread_id::text = %(t)s",
        }
        found = []
        async with self.town.services.pool.connection() as connection:
            for table, query in queries.items():
                row = await (await connection.execute(query, {"t": thread})).fetchone()
                found += [table] if row is not None else []
        return found

    async def name_the_dead(self) -> None:
        """Former owners use the ids of deleted threads that now belong to others."""
        if not self.graves:
            await self.keep_over_deletion()
        thread, former = self.campaign.dice.choice(self.graves)
        for path in ("", "/state", "/history", "/runs"):
            answer = await self.call(former, "GET", f"/threads/{thread}{path}")
            if answer.status_code not in (403, 404):
                self.leak(former, f"GET {path or '/'} of a thread lost: {answer.status_code}")

    async def take_a_living_id(self) -> None:
        """An existing thread cannot be created by someone else."""
        first, second = self.two()
        thread = await self.thread_of(first)
        await self.run(first, thread, self.mark(first))
        taken = await self.make(second, thread, check=False)
        state = await self.call(second, "GET", f"/threads/{thread}/state")
        if taken.is_success or state.is_success:
            self.leak(second, "a living thread was taken by its id")

    async def history_of_the_next_owner(self) -> None:
        """A deleted thread is empty when it is created again."""
        first, second = self.two()
        thread, word = await self.thread_of(first), f"{self.mark(first)}-{secrets.token_hex(4)}"
        await self.run(first, thread, word)
        await self.call(first, "DELETE", f"/threads/{thread}")
        await self.make(second, thread)
        for path in ("", "/state", "/history", "/runs"):
            answer = await self.call(second, "GET", f"/threads/{thread}{path}")
            self.expect_absent(answer.text, [word, self.mark(first)], second, f"GET {path}")

    # ── memberships ──

    async def hand_the_board_over(self) -> None:
        """The board's files are visible to its new owner, and to no former one."""
        before, after = ("ada", "bob") if self.campaign.board == "ada" else ("bob", "ada")
        workspaces = self.town.services.workspaces
        object.__setattr__(workspaces, "directory", directory(after))
        self.campaign.board = after
        for user, may in ((before, False), (after, True)):
            answer = await self.call(
                f"acme/{user}", "GET", "/workspaces/board/file", params={"path": "/secret.md"}
            )
            if answer.is_success != may:
                self.leak(f"acme/{user}", f"the board answered {answer.status_code}")

    # ── small parts ──

    def two(self) -> tuple[str, str]:
        first, second = self.campaign.dice.sample(list(self.campaign.people), 2)
        return first, second

    def mark(self, name: str) -> str:
        mark: str = self.campaign.people[name].mark
        return mark

    def open(self, caller: str, thread: str) -> OpenStream:
        path = f"/threads/{thread}/stream/events"
        return OpenStream(self.town.app, "POST", path, headers={"x-user": caller}, body=ALL)

    async def call(self, caller: str, method: str, path: str, **request: Any) -> Any:
        self.campaign.steps += 1
        answer = await self.town.call(caller, method, path, **request)
        self.campaign.statuses[str(answer.status_code)] += 1
        return answer

    async def thread_of(self, name: str, title: str | None = None) -> str:
        thread = str(uuid4())
        await self.make(name, thread, title=title)
        return thread

    async def make(
        self, name: str, thread: str, *, title: str | None = None, check: bool = True
    ) -> Any:
        body = {"thread_id": thread, "metadata": {"of": title or self.mark(name)}}
        answer = await self.call(name, "POST", "/threads", json=body)
        if check and not answer.is_success:
            self.leak(name, f"a free id could not be used: {answer.status_code}")
        return answer

    async def run(self, name: str, thread: str, word: str) -> None:
        body = {"assistant_id": "plain", "input": {"items": [word]}}
        await self.call(name, "POST", f"/threads/{thread}/runs/wait", json=body)

    def expect_absent(self, text: str, words: list[str], caller: str, where: str) -> None:
        for word in words:
            if word in text:
                self.leak(caller, f"{where} holds {word}")

    def leak(self, caller: str, what: str) -> None:
        self.campaign.leak(caller, "time", "", what)


def owner_of(name: str) -> Owner:
    tenant, _, user = name.partition("/")
    return Owner(tenant=tenant, user=user)
