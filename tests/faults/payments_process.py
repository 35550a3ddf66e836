"""Processes that run a paid thread, to be killed; forked from one that has imported everything.

Reads one JSON request per line: `{"live": {…}}` forks a process and returns its pid, `{"wait":
pid}` returns its exit code, or `running`. Ends with its input. A process continues its thread where
the last one left it: deposits, runs, closes, settles, collects. It kills itself at the requested
point.
"""

import asyncio
import json
import logging
import os
import pickle
import signal
import sys
from collections import Counter
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "integration" / "payments"))

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from own_services import end_with
from paid_town import answer, look
from payments_schedules import Death
from psycopg_pool import PoolTimeout

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.core.run_context import RunContext
from bathysphere.engine.database.pool import Database, Pool, open_pool, storage_errors
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.ledger.accounts import Accounts
from bathysphere.payments.ledger.refunds import Refunds
from bathysphere.payments.ledger.sealing import Sealer
from bathysphere.payments.ledger.swaps import Swaps
from bathysphere.payments.ledger.withdrawals import CannotWithdraw, Withdrawals
from bathysphere.payments.mint import KeysetBook, MintClient
from bathysphere.payments.nuts.keysets import Keysets
from bathysphere.payments.pricing import Price
from bathysphere.payments.service import PaymentService, Terms
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.payments.settlement import Settlement, SettlementTimings
from bathysphere.testing import ScriptedChatModel, fails

PRICE = 10
PAYER = Owner(tenant="campaign", user="payer")
MASTER = b"the master secret of the campaign"
NEEDS_MONEY, FELL, FAILED = 10, 11, 12
TIMINGS = SettlementTimings(
    lease=timedelta(seconds=4),
    first_wait=timedelta(milliseconds=200),
    longest_wait=timedelta(seconds=1),
)
GRACE = timedelta(seconds=2)


class Reaper:
    """Kills this process at the chosen point."""

    def __init__(self, death: Death | None) -> None:
        self.death = death
        self.came: Counter[str] = Counter()

    def at(self, side: str, point: str) -> None:
        self.came[f"{side} {point}"] += 1
        death = self.death
        is_here = death and (side, point) == (death.side, death.point)
        if is_here and self.came[f"{side} {point}"] == death.nth:
            os.kill(os.getpid(), signal.SIGKILL)

    def mortal(self, thing: Any, **points: str) -> Any:
        """The object, with some of its methods watched."""
        for method, point in points.items():
            setattr(thing, method, self._watched(getattr(thing, method), point))
        return thing

    def _watched(self, method: Any, point: str) -> Any:
        @wraps(method)
        async def watched(*args: Any, **named: Any) -> Any:
            self.at("before", point)
            with storage_errors():  # like the engine's own checkpoints and purse
                result = await method(*args, **named)
            self.at("after", point)
            return result

        return watched


class Parts:
    """The payment service and settlement of one process, over one pool."""

    def __init__(
        self, pool: Pool, mint_url: str, reaper: Reaper, keysets: Keysets | None = None
    ) -> None:
        clock, sealer, keys = SystemClock(), Sealer(MASTER), SessionKeys(MASTER)
        mint = reaper.mortal(MintClient(mint_url, timeout=1.5), swap="swap", restore="restore")
        book = self.book = KeysetBook(mint, clock)
        book._known = keysets  # as in a server that runs longer than these processes
        self.mint = mint
        self.accounts = reaper.mortal(
            Accounts(pool, sealer=sealer, clock=clock),
            open="open", deposit="deposit", charge="charge", complete="complete", void="void",
            begin_close="close",
        )  # fmt: skip
        self.refunds = reaper.mortal(Refunds(pool, clock=clock), deliver="deliver")
        self.swaps = reaper.mortal(
            Swaps(pool, sealer=sealer, clock=clock, grace=GRACE),
            freeze="freeze", take="take", complete="done",
        )  # fmt: skip
        self.withdrawals = reaper.mortal(
            Withdrawals(pool, sealer=sealer, clock=clock), withdraw="withdraw", mark_shown="shown"
        )
        self.settlement = Settlement(
            accounts=self.accounts, swaps=self.swaps, refunds=self.refunds, mint=mint,
            book=book, keys=keys, clock=clock, unit="sat", timings=TIMINGS,
        )  # fmt: skip
        terms = Terms(mint_url=mint_url, unit="sat", price=Price(step=PRICE), topup=64)
        self.service = PaymentService(
            terms=terms, accounts=self.accounts, refunds=self.refunds,
            deposits=Deposits(book, clock), keys=keys,
        )  # fmt: skip


MODEL_POINTS: dict[str, Any] = {"reaper": None, "fails_first": False, "failed": set()}


def rule(messages: list[Any]) -> Any:
    """The scripted model of every process; its reaper is set after the fork."""
    reaper = MODEL_POINTS["reaper"]
    reaper.at("before", "model")
    turn = answer(messages)
    made = sum(m.type == "ai" for m in messages)
    if MODEL_POINTS["fails_first"] and made % 2 and made not in MODEL_POINTS["failed"]:
        MODEL_POINTS["failed"].add(made)
        turn = fails(ConnectionError("the provider hung up"))
    reaper.at("after", "model")
    return turn


def make_graph() -> Any:
    worker = SubagentSpec(name="worker", description="Works.")
    spec = AgentSpec(
        name="paid", model=ScriptedChatModel(answer=rule), tools=(look,), subagents=(worker,)
    )
    return build(spec)


GRAPH = make_graph()


def keep_keysets(path: str, keysets: Keysets) -> None:
    Path(path).write_bytes(pickle.dumps(keysets))


def kept_keysets(path: str) -> Keysets:
    keysets: Keysets = pickle.loads(Path(path).read_bytes())
    return keysets


async def live(options: dict[str, Any]) -> int:
    death = Death(**options["death"]) if options["death"] else None
    reaper = Reaper(death)
    MODEL_POINTS.update(reaper=reaper, fails_first=options["fails_first"])
    async with open_pool(Database(url=options["database"], max_size=4)) as pool:
        parts = Parts(pool, options["mint"], reaper, kept_keysets(options["keysets"]))
        try:
            return await _live(parts, reaper, pool, options)
        finally:
            await parts.mint.close()


async def _live(parts: Parts, reaper: Reaper, pool: Pool, options: dict[str, Any]) -> int:
    thread, service = options["thread"], parts.service
    session = await service.session(thread, payer=PAYER)
    if session.status == "open":
        await service.open(thread, payer=PAYER, refund_key=session.refund_pubkey)
        for token in options["tokens"]:  # repeated by a client that did not get the response
            await service.deposit(thread, token, payer=PAYER)
        if not options["abandons"] and not await _run(parts, reaper, pool, options):
            return NEEDS_MONEY
        await service.close(thread, payer=PAYER)
    async with asyncio.timeout(40):
        while (await service.session(thread, payer=PAYER)).status != "closed":
            did = await parts.settlement.turn()
            await asyncio.sleep(0.02 if did["done"] or did["frozen"] else 0.3)
    await service.refunds(thread, payer=PAYER)
    await _withdraw(parts)
    return 0


async def _withdraw(parts: Parts) -> None:
    """Run the operator's withdrawal, concurrently with others."""
    try:
        made = await parts.withdrawals.withdraw()
    except CannotWithdraw:
        return  # another process was first
    await parts.withdrawals.mark_shown(made.withdrawal_id)


class Checkpoints(AsyncPostgresSaver):
    """Reports a lost PostgreSQL as the engine's saver does, so that no subagent answers with it."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read a checkpoint."""
        with storage_errors():
            return await super().aget_tuple(config)


async def _run(parts: Parts, reaper: Reaper, pool: Pool, options: dict[str, Any]) -> bool:
    """Run the thread to its end; return False if it waits for money."""
    saver = reaper.mortal(Checkpoints(pool), aput="checkpoint", aput_writes="writes")
    graph = GRAPH.copy({"checkpointer": saver})
    config = {"configurable": {"thread_id": options["thread"]}}
    purse = parts.service.purse(options["thread"], payer=PAYER)
    tokens = list(options["tokens"])
    while True:
        state = await graph.aget_state(config)
        # Not `state.next`: it is also empty when a step has written and none has continued.
        messages = state.values.get("messages") or []
        if messages and (messages[-1].type, messages[-1].text) == ("ai", "done"):
            return True
        given: Any = None
        if await saver.aget_tuple(config) is None:
            given = {"messages": [("user", options["text"])]}
        elif state.interrupts:
            # If the person's wallet has paid since then, that is the answer; else it must pay.
            if not await _can_pay(parts, options["thread"]):
                return False
            given = Command(resume={q.id: {"token": tokens[-1]} for q in state.interrupts})
        try:
            await graph.ainvoke(
                given, config, context=RunContext(payments=purse), durability="sync"
            )
        except ConnectionError:
            continue  # an injected failure of the provider


async def _can_pay(parts: Parts, thread: str) -> bool:
    return (await parts.service.session(thread, payer=PAYER)).balance >= PRICE


def child(options: dict[str, Any], *, parent: int) -> None:
    end_with(parent)
    logging.disable(logging.CRITICAL)
    code = FELL
    try:
        code = asyncio.run(live(options))
    except BaseException as error:  # noqa: BLE001  # whatever it was, somebody waits to hear of it
        _tell(options, error)
        code = FELL if _is_outage(error) else FAILED
    finally:
        os._exit(code)


def _is_outage(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_outage(inner) for inner in error.exceptions)
    return isinstance(error, psycopg.Error | PoolTimeout | UpstreamError | OSError | TimeoutError)


def _tell(options: dict[str, Any], error: BaseException) -> None:
    with Path(options["log"]).open("a") as log:
        log.write(f"{options['thread'][:8]} {type(error).__name__}: {error}\n")
        for inner in getattr(error, "exceptions", ()):
            log.write(f"    {type(inner).__name__}: {inner}\n")


def main() -> None:
    me = os.getpid()
    for line in sys.stdin:
        request = json.loads(line)
        if "live" in request:
            pid = os.fork()
            if pid == 0:
                child(request["live"], parent=me)
            reply = str(pid)
        else:
            done, status = os.waitpid(request["wait"], os.WNOHANG)
            reply = str(os.waitstatus_to_exitcode(status)) if done else "running"
        os.write(1, f"{reply}\n".encode())


if __name__ == "__main__":
    main()
