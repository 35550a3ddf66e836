"""Few requests of a tenant are worked on at a time."""

import asyncio
import time

from asgi_calls import Answer, answer, scope

from bathysphere.core.identity import Owner
from bathysphere.engine.tenant_shares import acting_owner
from bathysphere.server.asgi.tenant_gate import TenantGate, release_permit
from bathysphere.server.identity.identify import OWNER_KEY

ADA = Owner(tenant="acme", user="ada")
BOB = Owner(tenant="other", user="bob")
BODY = [(b"content-length", b"4")]


class Working:
    """An app that works until it is let go, and counts."""

    def __init__(self, *, waits: bool = False, streams: bool = False) -> None:
        self.go = asyncio.Event()
        self.second_began = asyncio.Event()
        self.began: list[Owner | None] = []
        self._waits = waits
        self._streams = streams

    async def __call__(self, scope, receive, send):
        if scope["headers"]:
            await receive()
        self.began.append(acting_owner.get())
        if len(self.began) == 2:
            self.second_began.set()
        if self._waits:
            release_permit()
        if self._streams:
            headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.go.wait()
        await answer(send, 200, b"")


class Bodies:
    """A body that arrives when it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def receive(self):
        await self.go.wait()
        return {"type": "http.request", "body": b"body", "more_body": False}


def ask(app, owner, *, headers=(), receive=None) -> asyncio.Task[None]:
    asked = {**scope(), "headers": list(headers), OWNER_KEY: owner}
    return asyncio.create_task(app(asked, receive, Answer().send))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_requests_of_a_tenant_beyond_its_share_wait_and_another_tenant_s_do_not():
    work = Working()
    app = TenantGate(work, at_once=2)
    tasks = [ask(app, ADA) for _ in range(50)]
    await settle()
    assert work.began == [ADA, ADA]
    tasks.append(ask(app, BOB))
    await settle()
    assert work.began == [ADA, ADA, BOB]
    work.go.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert work.began.count(ADA) == 50


async def test_a_stream_that_has_begun_and_a_request_that_waits_hold_no_permit():
    for work in (Working(streams=True), Working(waits=True)):
        app = TenantGate(work, at_once=1)
        tasks = [ask(app, ADA) for _ in range(3)]
        await settle()
        assert len(work.began) == 3
        work.go.set()
        await asyncio.gather(*tasks)


async def test_a_request_whose_body_dribbles_in_holds_no_permit():
    work, slow = Working(), Bodies()
    app = TenantGate(work, at_once=1)
    dribbling = [ask(app, ADA, headers=BODY, receive=slow.receive) for _ in range(3)]
    await settle()
    quick = ask(app, ADA)
    await settle()
    assert work.began == [ADA]
    slow.go.set()
    await settle()
    assert work.began == [ADA], "one is at work already"
    work.go.set()
    await asyncio.gather(quick, *dribbling)
    assert len(work.began) == 4


async def test_a_request_that_takes_long_lets_the_next_one_go_on():
    work = Working()
    app = TenantGate(work, at_once=1)
    tasks = [ask(app, ADA) for _ in range(2)]
    await asyncio.wait_for(work.second_began.wait(), 5)
    work.go.set()
    await asyncio.gather(*tasks)


async def test_who_is_nobody_yet_passes():
    work = Working()
    app = TenantGate(work, at_once=1)
    tasks = [ask(app, None) for _ in range(3)]
    await settle()
    assert work.began == [None] * 3
    work.go.set()
    await asyncio.gather(*tasks)


async def test_a_refusal_that_is_sent_late_holds_no_permit():
    refused = asyncio.Event()

    async def refuse(scope, receive, send):
        await answer(send, 429, b"")

    async def send_late(message):
        refused.set()
        await asyncio.sleep(10)

    app = TenantGate(refuse, at_once=1)
    asked = {**scope(), "headers": [], OWNER_KEY: ADA}
    first = asyncio.create_task(app(asked, None, send_late))
    await asyncio.wait_for(refused.wait(), 1)
    await asyncio.wait_for(app(dict(asked), None, Answer().send), 0.2)
    first.cancel()


async def test_a_tenant_that_occupies_the_event_loop_waits_and_one_that_only_waits_does_not():
    async def app(scope, receive, send):
        if scope[OWNER_KEY] == ADA:
            time.sleep(0.8)  # noqa: ASYNC251  # occupies the loop on purpose
        else:
            await asyncio.sleep(0.1)
        await answer(send, 200, b"")

    gate = TenantGate(app, at_once=4)
    for owner in (BOB, ADA):
        await ask(gate, owner)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await ask(gate, BOB)
    assert loop.time() - began < 0.3
    began = loop.time()
    await ask(gate, ADA)
    assert loop.time() - began > 1.0, "0.8 s of work, after a wait"
