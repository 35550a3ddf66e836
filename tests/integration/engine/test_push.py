"""Web Push: a person's browsers are told that a run has ended or waits, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, Rig, clean, open_rig
from push_browser import CONTACT, SECRET, Browser
from webhook_receiver import Receiver, open_receiver

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.delivery.outbox import Outbox
from bathysphere.engine.delivery.receivers import ReceiverRules
from bathysphere.engine.delivery.sender import SenderOptions
from bathysphere.engine.errors import InvalidPushSubscription
from bathysphere.engine.push.channel import NOTICES
from bathysphere.engine.push.subscriptions import MAX_PER_PERSON, NewSubscription
from bathysphere.server.process.deliveries import PushOptions

pytestmark = pytest.mark.services
WORD = "a-word-that-nobody-else-reads"
STEPS = {"name": WORD, "steps": 1, "delay": 0}
PUSH = PushOptions(
    secret=SECRET,
    contact=CONTACT,
    rules=ReceiverRules(allows_loopback=True, timeout_seconds=2),
    sender=SenderOptions(poll_seconds=0.05, attempts=3, retry_seconds=0.05),
)


@pytest.fixture
async def rig(engine_database: Database) -> AsyncIterator[Rig]:
    clean(engine_database)
    async with open_rig(engine_database, push=PUSH) as rig:
        yield rig


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


@pytest.fixture
async def browser(rig: Rig, receiver: Receiver) -> Browser:
    return await subscribed(rig, Browser(receiver))


async def subscribed(rig: Rig, browser: Browser, owner: Any = ALICE) -> Browser:
    await rig.services.push.subscriptions.put(browser.subscription, owner=owner)
    return browser


async def rows(rig: Rig, table: str = "push_notices") -> list[dict[str, Any]]:
    async with rig.pool.connection() as connection:
        query = f"SELECT * FROM engine.{table} ORDER BY created_at".encode()
        return await (await connection.execute(query)).fetchall()


async def hurry(rig: Rig) -> None:
    """What waits for the page to answer is due now."""
    async with rig.pool.connection() as connection:
        await connection.execute("UPDATE engine.push_notices SET next_attempt_at = now()")


async def end(rig: Rig, graph: str = "steps", **options: Any) -> UUID:
    """A run that comes to its end, or pauses; its notices are due."""
    thread = options.pop("thread", None) or uuid4()
    run = await rig.start(thread, graph, input=options.pop("input", STEPS), **options)
    await rig.ended(run)
    await hurry(rig)
    return thread


async def until_settled(rig: Rig) -> list[dict[str, Any]]:
    """Wait until nothing is to be sent; return what was given up."""
    async with asyncio.timeout(10):
        while True:
            found = await rows(rig)
            if all(row["dead_at"] is not None for row in found):
                return found
            await asyncio.sleep(0.02)


# ── what is told ──


async def test_the_end_of_a_run_is_told_without_contents(
    rig: Rig, receiver: Receiver, browser: Browser
):
    async with rig.working():
        thread = await end(rig)
        (got,) = await receiver.wait_for(1)
        assert await until_settled(rig) == []
    assert browser.read(got) == {"thread": str(thread), "news": "done"}
    assert (got.headers["ttl"], got.headers["urgency"]) == ("86400", "normal")
    assert len(got.headers["topic"]) == 32
    plain = repr(got.headers) + repr(got.body)
    assert str(thread) not in plain
    assert WORD not in plain


@pytest.mark.parametrize(
    ("graph", "said", "news", "urgency"),
    [
        ("asker", {}, "waiting", "high"),
        ("failing", {"name": "bug"}, "failed", "normal"),
    ],
)
async def test_questions_and_errors_are_told(
    rig: Rig, receiver: Receiver, browser: Browser, graph: str, said: Any, news: str, urgency: str
):
    async with rig.working():
        await end(rig, graph, input=said)
        (got,) = await receiver.wait_for(1)
    assert browser.read(got)["news"] == news
    assert got.headers["urgency"] == urgency


async def test_all_messages_have_one_size_and_those_of_a_thread_one_topic(
    rig: Rig, receiver: Receiver, browser: Browser
):
    async with rig.working():
        thread = await end(rig, "asker", input={})
        await receiver.wait_for(1)
        await end(rig, thread=thread)
        await receiver.wait_for(2)
        await end(rig)
        got = await receiver.wait_for(3)
    assert len({len(one.body) for one in got}) == 1
    topics = [one.headers["topic"] for one in got]
    assert topics[0] == topics[1] != topics[2]


async def test_cancelled_and_stateless_runs_are_not_told(rig: Rig, browser: Browser):
    run = await rig.start(uuid4(), "steps", input=STEPS)
    await rig.runs.cancel(run.run_id, owner=ALICE)
    async with rig.working():
        await rig.ended(await rig.start(uuid4(), "steps", input=STEPS, deletes_thread=True))
    assert await rows(rig) == []


async def test_only_the_owner_is_told(rig: Rig, receiver: Receiver):
    theirs = await subscribed(rig, Browser(receiver, "/bob"), BOB)
    async with rig.working():
        await end(rig)
        assert await rows(rig) == []
        thread = await end(rig, owner=BOB)
        (got,) = await receiver.wait_for(1, "/bob")
    assert theirs.read(got)["thread"] == str(thread)


# ── when it is told ──


async def test_a_notice_waits_some_seconds_for_the_page_to_answer(rig: Rig, browser: Browser):
    async with rig.working():
        await rig.ended(await rig.start(uuid4(), "asker", input={}))
        (row,) = await rows(rig)
    assert row["next_attempt_at"] - row["created_at"] == timedelta(seconds=5)
    assert row["attempts"] == 0


async def test_a_pause_that_was_answered_is_not_told(
    rig: Rig, receiver: Receiver, browser: Browser
):
    async with rig.working():
        thread = uuid4()
        await rig.ended(await rig.start(thread, "asker", input={}))
        await rig.start(thread, "steps", input={"name": "b", "steps": 30, "delay": 0.05})
        await hurry(rig)
        assert await until_settled(rig) == []
    assert receiver.received == []


async def test_the_last_of_several_for_a_thread_is_told(rig: Rig, browser: Browser):
    async with rig.working():
        thread = uuid4()
        await rig.ended(await rig.start(thread, "asker", input={}))
        (first,) = await rows(rig)
        await rig.ended(await rig.start(thread, "steps", input=STEPS))
    (row,) = await rows(rig)
    assert (first["news"], row["news"]) == ("waiting", "done")
    assert row["notice_id"] != first["notice_id"]


async def test_news_that_comes_while_the_one_before_is_sent_is_not_lost(rig: Rig, browser: Browser):
    async with rig.working():
        thread = uuid4()
        await rig.ended(await rig.start(thread, "asker", input={}))
    await hurry(rig)
    box = Outbox(rig.pool, NOTICES)
    sending = await box.claim(lease_seconds=60)
    async with rig.working():
        await rig.ended(await rig.start(thread, "steps", input=STEPS))
    await box.remove(sending)
    (row,) = await rows(rig)
    assert (row["news"], row["attempts"]) == ("done", 0)


# ── push services that fail ──


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_has_unsubscribed_is_forgotten(
    rig: Rig, receiver: Receiver, browser: Browser, status: int
):
    other = await subscribed(rig, Browser(receiver, "/other"))
    receiver.statuses["/ok"] = [status]
    async with rig.working():
        await end(rig)
        await receiver.wait_for(1, "/other")
        assert await until_settled(rig) == []
    (kept,) = await rows(rig, "push_subscriptions")
    assert kept["endpoint"] == other.endpoint


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_may_pass_is_repeated(
    rig: Rig, receiver: Receiver, browser: Browser, status: int
):
    receiver.statuses["/ok"] = [status, 201]
    async with rig.working():
        await end(rig)
        got = await receiver.wait_for(2)
        assert await until_settled(rig) == []
    assert browser.read(got[0]) == browser.read(got[1])


@pytest.mark.parametrize("status", [400, 403, 413])
async def test_a_refusal_is_final_but_not_for_the_browser(
    rig: Rig, receiver: Receiver, browser: Browser, status: int
):
    receiver.statuses["/ok"] = [status]
    async with rig.working():
        await end(rig)
        (dead,) = await until_settled(rig)
        assert (dead["attempts"], dead["last_error"]) == (1, f"status {status}")
        await end(rig, thread=dead["thread_id"])
        await receiver.wait_for(2)
        assert await until_settled(rig) == []
    assert len(await rows(rig, "push_subscriptions")) == 1


# ── subscriptions ──


async def test_a_browser_moves_to_the_last_person_with_what_was_to_be_told(
    rig: Rig, receiver: Receiver, browser: Browser
):
    async with rig.working():
        await rig.ended(await rig.start(uuid4(), "steps", input=STEPS))
        assert len(await rows(rig)) == 1
        await subscribed(rig, browser, BOB)
        assert await rows(rig) == []
        await end(rig)
        thread = await end(rig, owner=BOB)
        (got,) = await receiver.wait_for(1)
    assert browser.read(got)["thread"] == str(thread)
    assert [row["owner"] for row in await rows(rig, "push_subscriptions")] == [BOB.user]


async def test_the_browser_unseen_for_longest_is_removed_beyond_the_limit(
    rig: Rig, receiver: Receiver
):
    browsers = [Browser(receiver, f"/{number}") for number in range(MAX_PER_PERSON + 1)]
    await asyncio.gather(*(subscribed(rig, one) for one in browsers[:2]))
    await subscribed(rig, browsers[0])  # seen again
    for one in browsers[2:]:
        await subscribed(rig, one)
    kept = {row["endpoint"] for row in await rows(rig, "push_subscriptions")}
    assert kept == {one.endpoint for one in browsers} - {browsers[1].endpoint}


async def test_nobody_deletes_or_reads_the_subscription_of_another(rig: Rig, browser: Browser):
    await rig.services.push.subscriptions.delete(browser.endpoint, owner=BOB)
    for owner, count in ((ALICE, 1), (BOB, 0)):
        async with tenant_connection(rig.pool, owner) as connection:
            cursor = await connection.execute("SELECT * FROM engine.push_subscriptions")
            assert len(await cursor.fetchall()) == count
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                async with connection.transaction():
                    await connection.execute("SELECT * FROM engine.push_notices")
    await rig.services.push.subscriptions.delete(browser.endpoint, owner=ALICE)
    assert await rows(rig, "push_subscriptions") == []


async def test_a_run_ends_while_a_subscription_is_being_removed(rig: Rig, browser: Browser):
    async with rig.pool.connection() as connection, connection.transaction():
        await connection.execute("DELETE FROM engine.push_subscriptions")
        async with rig.working():
            await rig.ended(await rig.start(uuid4(), "steps", input=STEPS), seconds=5)
    assert await rows(rig) == []


async def test_a_deleted_thread_is_not_told(rig: Rig, browser: Browser):
    async with rig.working():
        run = await rig.ended(await rig.start(uuid4(), "steps", input=STEPS))
        assert len(await rows(rig)) == 1
        await rig.services.threads.delete(run.thread_id, owner=ALICE)
    assert await rows(rig) == []


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://push.example.com/x",
        "https://push.example.com:8443/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/x",
        "https://user@push.example.com/x",
        "https://[2606:4700::1111]/x",
        "/threads",
    ],
)
async def test_an_endpoint_that_is_not_a_push_service_is_refused(
    rig: Rig, receiver: Receiver, endpoint: str
):
    keys = Browser(receiver).json["keys"]
    with pytest.raises(InvalidPushSubscription, match="endpoint") as refused:
        new = NewSubscription(endpoint=endpoint, **keys)
        await rig.services.push.subscriptions.put(new, owner=ALICE)
    assert refused.value.hint


@pytest.mark.parametrize(
    "keys",
    [
        {"p256dh": "", "auth": ""},
        {"p256dh": "BAAA", "auth": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"p256dh": "B" + "A" * 86, "auth": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"p256dh": None, "auth": "AAAA"},
        {"p256dh": None, "auth": "AAAA AAAAAAAAAAAAAAAAA"},
    ],
)
async def test_keys_that_cannot_be_encrypted_for_are_refused(
    rig: Rig, receiver: Receiver, keys: dict[str, Any]
):
    good = Browser(receiver).json["keys"]
    new = NewSubscription(
        endpoint="https://push.example.com/x",
        p256dh=good["p256dh"] if keys["p256dh"] is None else keys["p256dh"],
        auth=keys["auth"],
    )
    with pytest.raises(InvalidPushSubscription, match="keys"):
        await rig.services.push.subscriptions.put(new, owner=ALICE)
