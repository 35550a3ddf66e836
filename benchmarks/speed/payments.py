"""Latency of a charge, compared with a bare transaction of the same writes.

The charge is `Accounts.charge`: it locks the account, looks for the key, checks status, balance and
expiry, and writes three rows. `transaction` writes the same three rows and checks nothing, as
BEGIN, three statements, COMMIT. `statement` writes them in one statement, the lower bound. All take
turns on one database, so that noise on the machine affects all; figures are medians of the best
round of each. Then a paid agent runs with a mint that only counts requests. Last line: JSON.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "integration" / "payments"))

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from ledger_rig import ALICE, Rig, open_rig, own_database
from paid_town import answer, look

from bathysphere.core.clock import SystemClock
from bathysphere.core.run_context import RunContext
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.mint import KeysetBook, MintClient
from bathysphere.payments.pricing import Price
from bathysphere.payments.service import PaymentService, Terms
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.testing import ScriptedChatModel

UPDATE = (
    "UPDATE payments.sessions SET spent = spent + 1, used_at = %(now)s WHERE session_id = %(s)s"
)
CHARGE = (
    "INSERT INTO payments.charges (thread_id, key, session_id, amount, status, holder, charged_at)"
    " VALUES ('bench', %(k)s, %(s)s, 1, 'captured', '', %(now)s)"
)
ENTRY = (
    "INSERT INTO payments.entries (session_id, kind, ref, debit, credit, amount, made_at)"
    " VALUES (%(s)s, 'charge', %(k)s, 'balance', 'earned', 1, %(now)s)"
)
TOGETHER = f"WITH a AS ({UPDATE}), b AS ({CHARGE}) {ENTRY}"
RATIO = 1.5


class Bench:
    def __init__(self, rig: Rig, session_id: str) -> None:
        self.rig = rig
        self.session_id = session_id
        self.keys = count()

    def _values(self) -> dict[str, object]:
        return {"s": self.session_id, "k": f"k{next(self.keys)}", "now": self.rig.clock.now()}

    async def charge(self) -> None:
        posted = await self.rig.accounts.charge("bench", f"k{next(self.keys)}", 1, payer=ALICE)
        assert posted.outcome == "charged"

    async def transaction(self) -> None:
        values = self._values()
        async with self.rig.pool.connection() as connection, connection.transaction():
            await connection.execute(UPDATE, values)
            await connection.execute(CHARGE, values)
            await connection.execute(ENTRY, values)

    async def statement(self) -> None:
        async with self.rig.pool.connection() as connection:
            await connection.execute(TOGETHER, self._values())


async def median_ms(work: Callable[[], Awaitable[None]], times: int) -> float:
    spans = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        spans.append(time.perf_counter() - began)
    return statistics.median(spans) * 1000


async def compare(rig: Rig, rounds: int, times: int) -> dict[str, float]:
    session = await rig.funded("bench", 10**9)
    bench = Bench(rig, session.session_id)
    works = {"charge": bench.charge, "transaction": bench.transaction, "statement": bench.statement}
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], await median_ms(work, times))
    return best


async def mint_requests(rig: Rig, iterations: int) -> tuple[int, int]:
    """Return the requests to the mint while a paid agent runs, and the number of paid calls."""
    requests = 0

    async def count_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        writer.close()

    async with await asyncio.start_server(count_request, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        mint = MintClient(f"http://127.0.0.1:{port}")
        clock = SystemClock()
        service = PaymentService(
            terms=Terms(mint_url=mint.url, unit="sat", price=Price(step=1)),
            accounts=rig.accounts,
            refunds=rig.refunds,
            deposits=Deposits(KeysetBook(mint, clock), clock),
            keys=SessionKeys(b"a secret of thirty-two bytes ...."),
        )
        await rig.funded("agent", 10_000)
        model = ScriptedChatModel(answer=answer)
        spec = AgentSpec(name="paid", model=model, tools=(look,))
        graph = build(spec, checkpointer=AsyncPostgresSaver(rig.pool))
        await graph.ainvoke(
            {"messages": [("user", str(iterations))]},
            {"configurable": {"thread_id": "agent"}},
            context=RunContext(payments=service.purse("agent", payer=ALICE)),
            durability="sync",
        )
        await mint.close()
    paid = await rig.accounts.current("agent", payer=ALICE)
    assert paid is not None
    return requests, paid.spent


async def measure(database, options: argparse.Namespace) -> dict[str, object]:
    async with open_rig(database) as rig:
        best = await compare(rig, options.rounds, options.times)
        requests, paid = await mint_requests(rig, 20)
    ratio = best["charge"] / best["transaction"]
    return {
        **{f"{name}_ms": round(value, 3) for name, value in best.items()},
        "ratio": round(ratio, 2),
        "ratio_to_one_statement": round(best["charge"] / best["statement"], 2),
        "paid_calls": paid,
        "mint_requests": requests,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=150)
    options = parser.parse_args()
    with own_database() as database:
        line = asyncio.run(measure(database, options))
    print(json.dumps(line))
    return 0 if line["ratio"] <= RATIO and line["mint_requests"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
