"""Webhooks: each end of a run is told at least once, signed, and only to allowed receivers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import httpcore
import pytest
from engine_rig import ALICE, BOB, QUICK, QUICK_LIMITS, Rig, clean, open_rig
from standardwebhooks import WebhookVerificationError
from webhook_receiver import MASTER, Receiver, open_receiver

from bathysphere.core.cancellation import cancel_all
from bathysphere.engine.database.pool import Database
from bathysphere.engine.delivery.outbox import Outbox
from bathysphere.engine.delivery.receivers import ReceiverRules, Receivers
from bathysphere.engine.delivery.sender import Sender, SenderOptions
from bathysphere.engine.records import Run, Work
from bathysphere.engine.webhooks.channel import WEBHOOKS, WebhookChannel
from bathysphere.engine.webhooks.signing import WebhookSigner
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.deliveries import WebhookOptions
from bathysphere.server.process.services import open_worker

pytestmark = pytest.mark.services
SOON = SenderOptions(poll_seconds=0.05, attempts=3, retry_seconds=0.05)
LOCAL = ReceiverRules(allows_loopback=True, timeout_seconds=0.5)
SWEEPING = replace(QUICK, sweep_seconds=0.1, temporary_seconds=0.2)


@pytest.fixture
async def rig(engine_database: Database) -> AsyncIterator[Rig]:
    clean(engine_database)
    webhooks = WebhookOptions(master=MASTER, rules=LOCAL, sender=SOON)
    async with open_rig(engine_database, webhooks=webhooks) as rig:
        yield rig


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


async def start(rig: Rig, url: str, graph: str = "steps", **options: Any) -> Run:
    said = options.pop("input", {"name": "a", "steps": 2, "delay": 0})
    work = Work(input=said, webhook=url)
    return await rig.start(options.pop("thread", None) or uuid4(), graph, work=work, **options)


async def outbox(rig: Rig) -> list[dict[str, Any]]:
    async with rig.pool.connection() as connection:
        cursor = await connection.execute("SELECT * FROM engine.webhooks ORDER BY created_at")
        return await cursor.fetchall()


async def until_empty(rig: Rig) -> None:
    async with asyncio.timeout(10):
        while await outbox(rig):  # noqa: ASYNC110  # another task changes it
            await asyncio.sleep(0.02)


async def until_dead(rig: Rig) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while not (rows := await outbox(rig)) or rows[0]["dead_at"] is None:  # noqa: ASYNC110  # another task changes it
            await asyncio.sleep(0.02)
    return rows[0]


# ── what is told ──


async def test_the_end_of_a_run_is_told_with_its_values_and_a_valid_signature(
    rig: Rig, receiver: Receiver
):
    async with rig.working():
        run = await start(rig, receiver.url())
        (got,) = await receiver.wait_for(1)
        await until_empty(rig)
    body = got.verified()
    assert (body["run_id"], body["status"]) == (str(run.run_id), "success")
    assert body["values"]["items"] == ["a:0", "a:1"]
    assert body["run_started_at"] <= body["run_ended_at"] <= body["webhook_sent_at"]
    with pytest.raises(WebhookVerificationError):
        got.verified("bob")
    with pytest.raises(WebhookVerificationError):
        replace(got, body=got.body.replace(b"success", b"failure")).verified()
    assert len(receiver.received) == 1


async def test_a_run_without_a_webhook_tells_nobody(rig: Rig):
    async with rig.working():
        await rig.ended(await rig.start(uuid4(), "steps", input={}))
    assert await outbox(rig) == []


async def test_errors_questions_and_cancellations_are_told(rig: Rig, receiver: Receiver):
    waiting = await start(rig, receiver.url("/cancelled"))
    await rig.runs.cancel(waiting.run_id, owner=ALICE)  # no worker ever has it
    async with rig.working():
        await start(rig, receiver.url("/failed"), "failing", input={"name": "bug"})
        await start(rig, receiver.url("/asked"), "asker")
        (cancelled,) = await receiver.wait_for(1, "/cancelled")
        (failed,) = await receiver.wait_for(1, "/failed")
        (asked,) = await receiver.wait_for(1, "/asked")
    assert cancelled.verified()["values"] is None
    assert failed.verified()["status"] == "error"
    assert failed.verified()["error"]["code"]
    assert asked.verified()["status"] == "interrupted"
    assert asked.verified()["values"]["__interrupt__"]


async def test_the_values_are_those_at_the_end_of_the_run_even_if_it_is_told_later(
    rig: Rig, receiver: Receiver
):
    receiver.statuses["/ok"] = [500]
    thread = uuid4()
    async with rig.working():
        await start(rig, receiver.url(), thread=thread)
        later = await rig.start(thread, "steps", input={"name": "later", "steps": 1, "delay": 0})
        await rig.ended(later)
        first, second = await receiver.wait_for(2)
    assert second.verified()["values"]["items"] == ["a:0", "a:1"]
    assert first.id == second.id


async def test_a_rolled_back_run_tells_the_state_before_it(rig: Rig, receiver: Receiver):
    thread = uuid4()
    async with rig.working():
        await rig.ended(await rig.start(thread, "steps", input={"name": "kept", "steps": 1}))
        slow = {"name": "gone", "steps": 50, "delay": 0.05}
        run = await start(rig, receiver.url(), thread=thread, input=slow)
        await rig.in_journal(thread, "gone:1")
        await rig.runs.cancel(run.run_id, owner=ALICE, action="rollback")
        (got,) = await receiver.wait_for(1)
    assert got.verified()["values"]["items"] == ["kept:0"]


async def test_the_thread_of_a_stateless_run_waits_for_its_webhook(rig: Rig, receiver: Receiver):
    receiver.statuses["/ok"] = [500, 500]
    async with rig.working(options=SWEEPING):
        run = await start(rig, receiver.url(), deletes_thread=True)
        got = await receiver.wait_for(3)
        await until_gone(rig, run.thread_id)
    assert [one.verified()["values"]["items"] for one in got] == [["a:0", "a:1"]] * 3
    assert await outbox(rig) == []


async def until_gone(rig: Rig, thread: UUID) -> None:
    async with asyncio.timeout(10), rig.pool.connection() as connection:
        while True:
            cursor = await connection.execute(
                "SELECT 1 FROM engine.threads WHERE thread_id = %s", (thread,)
            )
            if await cursor.fetchone() is None:
                return
            await asyncio.sleep(0.05)


# ── receivers that fail ──


async def test_a_failed_attempt_is_repeated_with_the_same_id(rig: Rig, receiver: Receiver):
    receiver.statuses["/ok"] = [503, 302]
    async with rig.working():
        await start(rig, receiver.url())
        got = await receiver.wait_for(3)
        await until_empty(rig)
    assert len({one.id for one in got}) == 1
    assert [one.verified()["status"] for one in got] == ["success"] * 3
    assert [one.path for one in receiver.received] == ["/ok"] * 3  # no redirect was followed


async def test_a_webhook_is_given_up_after_its_last_attempt(rig: Rig, receiver: Receiver):
    receiver.statuses["/ok"] = [500] * 10
    metrics = Metrics()
    async with working(rig, metrics):
        await start(rig, receiver.url())
        row = await until_dead(rig)
        await asyncio.sleep(0.3)
    assert (row["attempts"], row["last_error"]) == (3, "status 500")
    assert len(receiver.received) == 3
    assert b'bathysphere_webhooks_total{outcome="dead"} 1.0' in metrics.render()
    assert b'bathysphere_webhooks_total{outcome="retried"} 2.0' in metrics.render()


async def test_slow_receivers_do_not_hold_up_others(rig: Rig, receiver: Receiver):
    for number in range(6):  # more than there are slots, each with a receiver of its own
        run = await start(rig, f"http://127.0.0.{number + 2}:{receiver.port}/slow")
        await rig.runs.cancel(run.run_id, owner=ALICE)
    run = await start(rig, receiver.url(), owner=BOB)
    await rig.runs.cancel(run.run_id, owner=BOB)

    async def body(*_: Any) -> bytes:
        return b"{}"

    sender = Sender(
        Outbox(rig.pool, WEBHOOKS),
        Receivers(ReceiverRules(allows_loopback=True, timeout_seconds=30)),
        WebhookChannel(WebhookSigner(MASTER), body),
        clock=rig.services.clock,
        options=replace(SOON, slots=4, slots_per_tenant=2),
    )
    task = asyncio.create_task(sender.run())
    try:
        (got,) = await receiver.wait_for(1, seconds=5)
    finally:
        await cancel_all([task])
    assert got.verified("bob") == {}


def working(rig: Rig, metrics: Metrics) -> Any:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def open_it() -> AsyncIterator[None]:
        worker = await open_worker(
            rig.services, metrics=metrics, limits=QUICK_LIMITS, options=QUICK
        )
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.drain()
            await task

    return open_it()


async def test_a_share_of_the_slots_is_left_to_other_receivers_and_tenants(rig: Rig):
    for owner, host in ((ALICE, "a"), (ALICE, "a"), (ALICE, "b"), (BOB, "a")):
        run = await start(rig, f"https://{host}.example/x", owner=owner)
        await rig.runs.cancel(run.run_id, owner=owner)
    box = Outbox(rig.pool, WEBHOOKS)
    busy = {"busy_receivers": [("alice", "https://a.example")]}
    first = await box.claim(lease_seconds=60, **busy)
    second = await box.claim(lease_seconds=60, **busy)
    assert [(one.owner.tenant, one.receiver) for one in (first, second)] == [
        ("alice", "https://b.example"),
        ("bob", "https://a.example"),
    ]
    assert await box.claim(lease_seconds=60, **busy) is None
    assert await box.claim(lease_seconds=60, busy_tenants=["alice"]) is None
    assert (await box.claim(lease_seconds=60)).owner == ALICE


async def test_a_lost_claim_is_due_again_and_its_holder_changes_nothing(rig: Rig):
    run = await start(rig, "https://a.example/x")
    await rig.runs.cancel(run.run_id, owner=ALICE)
    box = Outbox(rig.pool, WEBHOOKS)
    lost = await box.claim(lease_seconds=0.1)
    assert await box.claim(lease_seconds=0.1) is None
    await asyncio.sleep(0.15)
    found = await box.claim(lease_seconds=60)
    assert (found.message_id, found.attempts) == (lost.message_id, 2)
    await box.give_up(lost, error="late")
    (row,) = await outbox(rig)
    assert row["dead_at"] is None


# ── addresses that must not be reached ──


class Names:
    """A resolver that answers with an address of our choice."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def resolve(self, host: str, port: int) -> list[str]:
        return [self.address]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every host to which a connection is opened; none is."""
    hosts: list[str] = []

    async def connect(self: Any, host: str, *args: Any, **options: Any) -> Any:
        hosts.append(host)
        raise httpcore.ConnectError("intercepted")

    from httpcore._backends.auto import AutoBackend

    monkeypatch.setattr(AutoBackend, "connect_tcp", connect)
    yield hosts


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("http://hooks.example.com/x", "93.184.216.34"),
        ("http://hooks.example.com:443/x", "93.184.216.34"),
        ("https://hooks.example.com:22/x", "93.184.216.34"),
        ("https://127.0.0.1/x", ""),
        ("https://[::1]/x", ""),
        ("https://[::ffff:127.0.0.1]/x", ""),
        ("https://169.254.169.254/latest/meta-data", ""),
        ("https://10.0.0.1/x", ""),
        ("https://0x7f000001/x", ""),
        ("https://localhost/x", ""),
        ("https://metadata.internal/x", ""),
        ("https://user:pass@hooks.example.com/x", "93.184.216.34"),
        ("https://hooks.example.com/x", "127.0.0.1"),
        ("https://hooks.example.com/x", "10.1.2.3"),
        ("https://hooks.example.com/x", "169.254.169.254"),
        ("https://hooks.example.com/x", "fd00::1"),
        ("file:///etc/passwd", ""),
        ("//hooks.example.com", ""),
        ("/runs", ""),
    ],
)
async def test_no_connection_is_opened_to_a_forbidden_address(
    rig: Rig, connected: list[str], url: str, resolved: str
):
    run = await start(rig, url)  # past the check of requests
    await rig.runs.cancel(run.run_id, owner=ALICE)
    receivers = Receivers(ReceiverRules(), resolver=Names(resolved))

    async def body(*_: Any) -> bytes:
        return b"{}"

    sender = Sender(
        Outbox(rig.pool, WEBHOOKS),
        receivers,
        WebhookChannel(WebhookSigner(MASTER), body),
        clock=rig.services.clock,
        options=SOON,
    )
    task = asyncio.create_task(sender.run())
    try:
        row = await until_dead(rig)
    finally:
        await cancel_all([task])
    assert row["attempts"] == 1
    assert row["last_error"].startswith("refused: ")
    assert connected == []


async def test_an_allowed_address_is_reached_by_its_number(rig: Rig, connected: list[str]):
    """So that the test above would see a connection."""
    receivers = Receivers(ReceiverRules(), resolver=Names("93.184.216.34"))
    with pytest.raises(Exception, match="intercepted"):
        await receivers.post("https://hooks.example.com/x", b"{}", {})
    assert connected == ["93.184.216.34"]


async def test_this_machine_is_a_receiver_only_if_it_is_allowed(receiver: Receiver):
    receivers = Receivers(ReceiverRules(allows_loopback=True), resolver=Names("127.0.0.1"))
    assert await receivers.post(receiver.url(), b"{}", {}) == 200
    for url in (
        f"http://hooks.example.com:{receiver.port}/",
        f"http://127.0.0.1.nip.io:{receiver.port}/",
    ):
        with pytest.raises(Exception, match=r"is not allowed|must use https"):
            await receivers.post(url, b"{}", {})
    assert receiver.connections == 1


async def test_a_slow_receiver_is_left_after_its_time(receiver: Receiver):
    receivers = Receivers(LOCAL)
    with pytest.raises(TimeoutError):
        await receivers.post(receiver.url("/slow"), b"{}", {})
