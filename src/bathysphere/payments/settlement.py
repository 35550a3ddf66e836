"""Settlement: close due sessions, swap deposits into earnings and refunds, track claimed refunds.

Runs in the background; safe to kill at any point and to run in many processes at once. A swap is
stored before it is posted. Its outcome is read from the mint, never assumed:

| response of the mint | action |
|---|---|
| signatures | check each; done |
| none, or an invalid one | unknown: the next try calls `restore` first, then posts the same body |
| 11001, inputs spent | restored: done. Not restored: lost after the locktime, else an alarm |
| 11002, pending | try again; an alarm after `pending_is_stuck`; never a new attempt |
| 12001/12002, keyset | nothing restored and inputs unspent: a new attempt on the active keyset |
| any other refusal | restored: done; else an alarm: a bug here or at the mint |
| anything else wrong with one swap | an alarm for that swap; the others continue |

New outputs are made only after a definite refusal with nothing restored, never after no response.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias

from bathysphere.core.clock import Clock
from bathysphere.payments.errors import MintRefused, MintUnfit, MintUnknown
from bathysphere.payments.ledger.errors import Unsealable
from bathysphere.payments.ledger.records import Prepare, Proof, Refund, RefundToken, Swap
from bathysphere.payments.mint import KeysetBook, MintClient
from bathysphere.payments.nuts.keysets import Keyset
from bathysphere.payments.nuts.proofs import BlindSignature
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.payments.swaps import BadAnswer, Inputs, Plan, Reader, prepare_swap

_log = logging.getLogger(__name__)

Ending: TypeAlias = Literal[
    "closing", "frozen", "done", "postponed", "superseded", "lost", "stuck", "claimed"
]
_UNKNOWN_TRIES_BEFORE_KEYSET_ALARM = 20
_ISOLATED_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError, AssertionError, Unsealable)
"""Errors of one swap or session: it is marked with the reason, and the others continue."""


class OverdueAccounts(Protocol):
    """Storage of sessions that must be closed automatically."""

    async def close_overdue(self, *, idle: timedelta) -> list[str]:
        """Begin to close sessions that are idle or near a locktime."""
        ...


class SwapStore(Protocol):
    """Storage of swaps. Each method is one transaction; a swap ends only once."""

    async def closing(self, *, limit: int = ...) -> list[str]:
        """List closing sessions that have no swaps yet."""
        ...

    async def freeze(self, session_id: str, prepare: Prepare) -> bool:
        """Store the swaps of a closing session; False while one of its charges is in progress."""
        ...

    async def record_freeze_error(self, session_id: str, error: str) -> None:
        """Record why the swaps of a session could not be stored."""
        ...

    async def take(self, *, limit: int = ..., lease: timedelta = ...) -> list[Swap]:
        """Lease due swaps and count the try, before anything is posted."""
        ...

    async def postpone(
        self, swap: Swap, error: str, *, after: timedelta, is_pending: bool = ...
    ) -> None:
        """Postpone the swap to a later try."""
        ...

    async def mark_stuck(self, swap: Swap, error: str, *, look_again: timedelta) -> bool:
        """Raise an alarm; the swap is still retried occasionally."""
        ...

    async def supersede(self, swap: Swap, prepare: Prepare, error: str) -> bool:
        """End this attempt and store the next one, in one transaction."""
        ...

    async def complete(
        self, swap: Swap, earned: Sequence[Proof], refund: RefundToken | None
    ) -> bool:
        """Store the result of the swap; False if another worker was first."""
        ...

    async def mark_lost(self, swap: Swap, error: str) -> bool:
        """Record the deposit as lost."""
        ...


class RefundStore(Protocol):
    """Storage of refunds."""

    async def unclaimed(self, *, limit: int = ...) -> list[Refund]:
        """List refunds not known to be claimed, least recently checked first."""
        ...

    async def mark_claimed(self, refund_ids: Sequence[str]) -> None:
        """Record refunds that the mint reports as spent."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementTimings:
    """Timeouts and retry intervals of settlement."""

    idle: timedelta = timedelta(days=1)
    """A session unused for this long is closed."""
    lease: timedelta = timedelta(minutes=2)
    first_wait: timedelta = timedelta(seconds=2)
    longest_wait: timedelta = timedelta(minutes=5)
    pending_is_stuck: timedelta = timedelta(minutes=15)
    stuck_look_again: timedelta = timedelta(hours=1)
    max_attempts: int = 5

    def wait(self, tries: int) -> timedelta:
        """Return the delay before the next try, doubled after each try."""
        return min(self.first_wait * (1 << min(tries, 20)), self.longest_wait)


class Settlement:
    """Does all due settlement work, one turn per call."""

    def __init__(
        self,
        *,
        accounts: OverdueAccounts,
        swaps: SwapStore,
        refunds: RefundStore,
        mint: MintClient,
        book: KeysetBook,
        keys: SessionKeys,
        clock: Clock,
        unit: str,
        mint_url: str | None = None,
        timings: SettlementTimings | None = None,
    ) -> None:
        self._accounts = accounts
        self._swaps = swaps
        self._refunds = refunds
        self._mint = mint
        self._book = book
        self._keys = keys
        self._clock = clock
        self._unit = unit
        self._mint_url = mint_url or mint.url
        self._timings = timings or SettlementTimings()

    async def turn(self, *, limit: int = 10) -> Counter[Ending]:
        """Close, freeze, settle and check refunds; return how often each ending occurred."""
        counts: Counter[Ending] = Counter()
        counts["closing"] += len(await self._accounts.close_overdue(idle=self._timings.idle))
        # Without keys from the mint, sessions wait in `closing`; the other steps still run.
        with contextlib.suppress(MintUnknown, MintUnfit):
            counts["frozen"] += await self.freeze(limit=limit)
        counts += await self.settle(limit=limit)
        counts["claimed"] += await self.check_refunds()
        return +counts

    # ── freeze ──

    async def freeze(self, *, limit: int = 10) -> int:
        """Store the swaps of closing sessions; return how many sessions were frozen."""
        sessions = await self._swaps.closing(limit=limit)
        if not sessions:
            return 0
        prepare = self._prepare(await self._active())
        return sum([await self._freeze(session, prepare) for session in sessions])

    async def _freeze(self, session_id: str, prepare: Prepare) -> bool:
        try:
            return await self._swaps.freeze(session_id, prepare)
        except _ISOLATED_ERRORS as error:
            _log.exception("Cannot settle session %s", session_id)
            await self._swaps.record_freeze_error(session_id, _reason(error))
            return False

    def _prepare(self, keyset: Keyset) -> Prepare:
        return lambda deposit: prepare_swap(deposit, keyset, self._keys)

    async def _active(self) -> Keyset:
        keyset = (await self._book.get()).active(self._unit)
        keyset = keyset or (await self._book.reload()).active(self._unit)
        if keyset is None:
            message = f"The mint has no active keyset for unit {self._unit}"
            raise MintUnfit(message)
        return keyset

    # ── settle ──

    async def settle(self, *, limit: int = 10) -> Counter[Ending]:
        """Work on due swaps concurrently."""
        taken = await self._swaps.take(limit=limit, lease=self._timings.lease)
        return Counter(await _all([self._isolated(swap) for swap in taken]))

    async def _isolated(self, swap: Swap) -> Ending:
        try:
            return await self._settle(swap)
        except _ISOLATED_ERRORS as error:
            _log.exception("Cannot settle swap %s", swap.swap_id)
            await self._swaps.mark_stuck(
                swap, _reason(error), look_again=self._timings.stuck_look_again
            )
            return "stuck"

    async def _settle(self, swap: Swap) -> Ending:
        plan = Plan.from_bytes(swap.outputs)
        try:
            # `tries` counts this one: from the second on, an earlier POST may have gone through.
            signatures = await self._restored(plan) if swap.tries > 1 else None
            if signatures is None:
                signatures = await self._mint.swap(swap.body.decode())
            return await self._finish(swap, plan, signatures)
        except MintRefused as refused:
            return await self._after_refusal(swap, plan, refused)
        except (MintUnknown, BadAnswer) as error:
            return await self._after_unknown(swap, plan, error)

    async def _finish(self, swap: Swap, plan: Plan, signatures: list[BlindSignature]) -> Ending:
        keyset = await self._keyset(plan.keyset_id)
        reader = Reader(
            seed=self._keys.swap_seed(swap.swap_id),
            keyset=keyset,
            refund_key=swap.refund_pubkey,
            mint_url=self._mint_url,
        )
        finished = reader.finish(plan, signatures)
        await self._swaps.complete(swap, finished.earned, finished.refund)
        return "done"

    async def _keyset(self, keyset_id: str) -> Keyset:
        keyset = (await self._book.get()).get(keyset_id)
        keyset = keyset or (await self._book.reload()).get(keyset_id)
        if keyset is None:
            message = f"The mint no longer lists keyset {keyset_id}"
            raise MintUnknown(message)
        return keyset

    async def _restored(self, plan: Plan) -> list[BlindSignature] | None:
        """Return the mint's signatures on the plan's outputs, or None if it never signed them."""
        found = (await self._mint.restore(plan.messages())).signatures
        signatures = [found[output.b] for output in plan.outputs if output.b in found]
        if signatures and len(signatures) < len(plan.outputs):
            message = f"Only {len(signatures)} of {len(plan.outputs)} outputs were signed"
            raise BadAnswer(message)
        return signatures or None

    # ── failures ──

    async def _after_unknown(self, swap: Swap, plan: Plan, error: Exception) -> Ending:
        if isinstance(error, MintUnknown):
            return await self._postpone(swap, error)
        # The response was invalid. If the mint did sign, `restore` may return good signatures.
        try:
            signatures = await self._restored(plan)
            if signatures is not None:
                return await self._finish(swap, plan, signatures)
        except (MintUnknown, MintRefused) as unknown:
            return await self._postpone(swap, unknown)
        except BadAnswer:
            pass
        return await self._stuck(swap, error)

    async def _after_refusal(self, swap: Swap, plan: Plan, refused: MintRefused) -> Ending:
        try:
            signatures = await self._restored(plan)
            if signatures is not None:
                return await self._finish(swap, plan, signatures)
            return await self._decide(swap, plan, refused)
        except (MintUnknown, MintRefused) as unknown:
            return await self._postpone(swap, unknown)
        except BadAnswer as bad:
            return await self._stuck(swap, bad)

    async def _decide(self, swap: Swap, plan: Plan, refused: MintRefused) -> Ending:
        """Handle a definite refusal when the mint has signed none of the outputs."""
        now = self._clock.now()
        if refused.mint_code == MintRefused.SPENT:
            if now < swap.locktime:
                return await self._stuck(swap, refused)  # only our key could have spent it
            await self._swaps.mark_lost(swap, str(refused))
            return "lost"
        if refused.mint_code in MintRefused.PENDING:
            since = swap.pending_at
            if since is not None and now - since >= self._timings.pending_is_stuck:
                return await self._stuck(swap, refused)
            return await self._postpone(swap, refused, is_pending=True)
        if refused.mint_code in MintRefused.KEYSET:
            return await self._start_new_attempt(swap, plan, refused)
        return await self._stuck(swap, refused)

    async def _start_new_attempt(self, swap: Swap, plan: Plan, refused: MintRefused) -> Ending:
        inputs = Inputs.of(swap.body)
        if set(await self._mint.states(inputs.ys)) != {"UNSPENT"}:
            return await self._postpone(swap, refused, is_pending=True)
        keysets = await self._book.reload()
        if not all(map(keysets.get, inputs.keyset_ids)):
            return await self._stuck(swap, refused)  # not the mint that issued the inputs
        active = keysets.active(self._unit)
        if active is None or active.id == plan.keyset_id:
            # The keyset book may be stale by up to its minimum reload interval.
            if swap.tries >= _UNKNOWN_TRIES_BEFORE_KEYSET_ALARM:
                return await self._stuck(swap, refused)
            return await self._postpone(swap, refused)
        if swap.attempt >= self._timings.max_attempts:
            return await self._stuck(swap, refused)
        await self._swaps.supersede(swap, self._prepare(active), str(refused))
        return "superseded"

    async def _postpone(self, swap: Swap, why: Exception, *, is_pending: bool = False) -> Ending:
        if swap.status == "stuck":
            return await self._stuck(swap, why)
        after = self._timings.wait(swap.tries)
        await self._swaps.postpone(swap, str(why), after=after, is_pending=is_pending)
        return "postponed"

    async def _stuck(self, swap: Swap, why: Exception) -> Ending:
        await self._swaps.mark_stuck(swap, str(why), look_again=self._timings.stuck_look_again)
        return "stuck"

    # ── refunds ──

    async def check_refunds(self, *, limit: int = 50) -> int:
        """Check with the mint, in one request, which refunds were claimed."""
        refunds = await self._refunds.unclaimed(limit=limit)
        ys = [bytes.fromhex(y) for refund in refunds for y in refund.ys]
        if not ys:
            return 0
        try:
            states = dict(zip(ys, await self._mint.states(ys), strict=True))
        except (MintUnknown, MintRefused):
            return 0
        claimed = [
            refund.refund_id
            for refund in refunds
            if all(states[bytes.fromhex(y)] == "SPENT" for y in refund.ys)
        ]
        await self._refunds.mark_claimed(claimed)
        return len(claimed)


async def _all(works: Sequence[Coroutine[Any, Any, Ending]]) -> list[Ending]:
    """Run concurrently. Not a task group: a failure must not cancel siblings that post."""
    tasks = [asyncio.create_task(work) for work in works]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    errors = [error for task in tasks if (error := task.exception()) is not None]
    if errors:
        raise BaseExceptionGroup("Cannot settle swaps", errors)
    return [task.result() for task in tasks]


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
