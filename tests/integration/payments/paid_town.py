"""A server with a worker, a ledger and a real mint, and people who pay."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from pydantic import SecretStr

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.payments.ledger.audit import Audit, audit
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.process.assembly import worker_of
from bathysphere.server.process.services import Services, open_services
from bathysphere.server.process.settings import ServerSettings
from bathysphere.testing import ScriptedChatModel, Turn, calls, says, together
from bathysphere.testing.wallet import Wallet

SECRET = "a secret for tests, long enough to be one"


@tool
def look(what: str) -> str:
    """Look."""
    return f"seen {what}"


def answer(messages: list[BaseMessage]) -> Turn:
    """`N` looks N-1 times and says done; `tree N` sends two workers out who take N calls each."""
    first = next(m.text for m in reversed(messages) if m.type == "human")
    since = messages[max(i for i, m in enumerate(messages) if m.type == "human") :]
    made = sum(m.type == "ai" for m in since)
    if first.startswith("tree ") and made == 0:
        work = first.removeprefix("tree ")
        sent = [calls("task", description=work, subagent_type="worker") for _ in range(2)]
        return together(*sent)
    if first.startswith("tree "):
        return says("done")
    return says("done") if made + 1 >= int(first) else calls("look", what=str(made))


def paid_graph(rule: Callable[[list[BaseMessage]], Turn] = answer) -> Any:
    model = ScriptedChatModel(answer=rule)
    worker = SubagentSpec(name="worker", description="Works.")
    spec = AgentSpec(name="paid", model=model, tools=(look,), subagents=(worker,))
    return build(spec)


async def identify(connection: Any) -> Owner:
    name = connection.headers["x-test-user"]
    return Owner(tenant=name, user=name)


class Town:
    """What a person does over HTTP."""

    def __init__(self, services: Services, http: httpx.AsyncClient) -> None:
        self.services = services
        self.http = http

    async def call(self, method: str, path: str, *, user: str = "alice", **request: Any) -> Any:
        headers = {"x-test-user": user, **request.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **request)

    async def thread(self, wallet: Wallet | None = None) -> str:
        made = (await self.call("POST", "/threads", json={})).json()["thread_id"]
        if wallet is not None:
            opened = await self.call(
                "POST", f"/threads/{made}/payments", json={"refund_key": wallet.key}
            )
            assert opened.status_code == 200, opened.text
        return made

    async def pay(self, thread: str, wallet: Wallet, sats: int) -> dict[str, Any]:
        asked = await self.call("POST", f"/threads/{thread}/payments/deposit")
        assert asked.status_code == 402
        token = await wallet.pay(asked.headers["x-cashu"], amount=sats)
        paid = await self.call(
            "POST", f"/threads/{thread}/payments/deposit", headers={"x-cashu": token}
        )
        assert paid.status_code == 200, paid.text
        return paid.json()

    async def run(self, thread: str, text: str | None, **command: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"assistant_id": "paid"}
        if text is not None:
            body["input"] = {"messages": [{"role": "user", "content": text}]}
        if command:
            body["command"] = command
        done = await self.call("POST", f"/threads/{thread}/runs/wait", json=body)
        assert done.status_code == 200, done.text
        return done.json()

    async def account(self, thread: str) -> dict[str, Any]:
        return (await self.call("GET", f"/threads/{thread}/payments")).json()

    async def refunds(self, thread: str, wallet: Wallet) -> int:
        """Close, wait for what comes back, and take it; its worth as the ledger says."""
        await self.call("POST", f"/threads/{thread}/payments/close")
        async with asyncio.timeout(30):
            while True:
                await self.services.payments.settlement.turn()
                view = (await self.call("GET", f"/threads/{thread}/payments/refunds")).json()
                if view["is_settled"]:
                    break
                await asyncio.sleep(0.05)
        for refund in view["refunds"]:
            if refund["status"] != "claimed":
                await wallet.receive(refund["token"])
        return sum(refund["amount"] for refund in view["refunds"])

    async def books(self) -> Audit:
        return await audit(self.services.pool)


@asynccontextmanager
async def open_town(
    database: Database, mint_url: str, *, graph: Any = None, **settings: Any
) -> AsyncIterator[Town]:
    paid = PaymentSettings(
        mint=mint_url, secret=SecretStr(SECRET), **{"price_step": 10, **settings}
    )
    graphs = Graphs({"paid": graph or paid_graph})
    async with open_services(database=database, graphs=graphs, payments=paid) as services:
        worker = await worker_of(services, ServerSettings(), Metrics())
        working = asyncio.create_task(worker.run())
        app = create_app(services=services, identify=identify)
        transport = httpx.ASGITransport(app=app)
        try:
            async with httpx.AsyncClient(
                transport=transport, base_url="http://town", timeout=60
            ) as http:
                yield Town(services, http)
        finally:
            worker.drain()
            with contextlib.suppress(asyncio.CancelledError):
                await working
