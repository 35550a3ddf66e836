"""Settlement: closes what is due, swaps deposits for earnings and refunds, sees refunds claimed.

Work in the background, safe to be killed at any point and to run in many processes at once. A swap
is in the store before it is posted. What became of it is read from the mint, never assumed:

| the mint says | what is done |
|---|---|
| signatures | each is checked; done |
| nothing we understood | unknown: next time `restore` is asked first, then the same is posted |
| 11001, inputs spent | restored: done. Not restored: lost if the locktime is over, else an alarm |
| 11002, pending | looked at again; after `pending_is_stuck` an alarm; never made anew |
| 12001/12002, keyset | nothing restored and inputs unspent: a new attempt on the active keyset |
| any other refusal | restored: done; else an alarm: it is our bug or the mint's |

New outputs are made only after a definite refusal with nothing restored, never after silence.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol, TypeAlias

from bathysphere.core.clock import Clock
from bathysphere.payments.errors import MintRefused, MintUnfit, MintUnknown
from bathysphere.payments.ledger.records import Prepare, Proof, Refund, RefundToken, Swap
from bathysphere.payments.mint import KeysetBook, MintClient
from bathysphere.payments.nuts.keysets import Keyset
from bathysphere.payments.nuts.proofs import BlindSignature
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.payments.swaps import BadAnswer, Inputs, Plan, Reader, prepare_swap

Ending: TypeAlias = Literal[
    "closing", "frozen", "done", "put_off", "superseded", "lost", "stuck", "claimed"
]
_UNKNOWN_TRIES_BEFORE_KEYSET_ALARM = 20


class OverdueAccounts(Protocol):
    """Where sessions are that must close by themselves."""

    async def close_overdue(self, *, idle: timedelta) -> list[str]:
        """Begin to close what nears a locktime or is not used."""
        ...


class SwapStore(Protocol):
    """Where swaps are kept. Each method is one transaction; an ending happens once."""

    async def closing(self, *, limit: int = ...) -> list[str]:
        """Sessions that close and have no swaps yet."""
        ...

    async def freeze(self, session_id: str, prepare: Prepare) -> bool:
        """Write the swaps of a closing session; False while one of its charges is under way."""
        ...

    async def take(self, *, limit: int = ..., lease: timedelta = ...) -> list[Swap]:
        """Lease swaps that are due and count the try, before anything is posted."""
        ...

    async def put_off(
        self, swap: Swap, error: str, *, after: timedelta, is_pending: bool = ...
    ) -> None:
        """Look at it again later."""
        ...

    async def stuck(self, swap: Swap, error: str, *, look_again: timedelta) -> bool:
        """Raise an alarm; it is still looked at now and then."""
        ...

    async def supersede(self, swap: Swap, prepare: Prepare, error: str) -> bool:
        """End this attempt and write the next one, in one transaction."""
        ...

    async def done(self, swap: Swap, earned: Sequence[Proof], refund: RefundToken | None) -> bool:
        """Keep what the swap gave; False if another worker was first."""
        ...

    async def lost(self, swap: Swap, error: str) -> bool:
        """Book the deposit as lost."""
        ...


class RefundStore(Protocol):
    """Where refunds are kept."""

    async def unclaimed(self, *, limit: int = ...) -> list[Refund]:
        """Refunds that nobody is known to have taken, those asked about longest ago first."""
        ...

    async def claimed(self, refund_ids: Sequence[str]) -> None:
        """The mint says that these are spent."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long settlement waits for what."""

    idle: timedelta = timedelta(days=1)
    """A session that nobody used for this long is closed."""
    lease: timedelta = timedelta(minutes=2)
    first_wait: timedelta = timedelta(seconds=2)
    longest_wait: timedelta = timedelta(minutes=5)
    pending_is_stuck: timedelta = timedelta(minutes=15)
    stuck_look_again: timedelta = timedelta(hours=1)
    max_attempts: int = 5

    def wait(self, tries: int) -> timedelta:
        """Twice as long after each try."""
        return min(self.first_wait * (1 << min(tries, 20)), self.longest_wait)


class Settlement:
    """Does one turn of everything that is due, each time it is asked."""

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
        patience: Patience | None = None,
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
        self._patience = patience or Patience()

    async def turn(self, *, limit: int = 10) -> Counter[Ending]:
        """Close, freeze, settle and ask after refunds; how often each ending happened."""
        did: Counter[Ending] = Counter()
        did["closing"] += len(await self._accounts.close_overdue(idle=self._patience.idle))
        # Without keys from the mint, sessions wait in `closing`; the rest need not.
        with contextlib.suppress(MintUnknown, MintUnfit):
            did["frozen"] += await self.freeze(limit=limit)
        did += await self.settle(limit=limit)
        did["claimed"] += await self.ask_after_refunds()
        return +did

    # ── freeze ──

    async def freeze(self, *, limit: int = 10) -> int:
        """Write the swaps of sessions that close."""
        sessions = await self._swaps.closing(limit=limit)
        if not sessions:
            return 0
        prepare = self._prepare(await self._active())
        return sum([await self._swaps.freeze(session, prepare) for session in sessions])

    def _prepare(self, keyset: Keyset) -> Prepare:
        return lambda deposit: prepare_swap(deposit, keyset, self._keys)

    async def _active(self) -> Keyset:
        keyset = (await self._book.get()).active(self._unit)
        keyset = keyset or (await self._book.reload()).active(self._unit)
        if keyset is None:
            message = f"the mint has no active keyset for {self._unit}"
            raise MintUnfit(message)
        return keyset

    # ── settle ──

    async def settle(self, *, limit: int = 10) -> Counter[Ending]:
        """Work on swaps that are due, side by side."""
        taken = await self._swaps.take(limit=limit, lease=self._patience.lease)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._settle(swap)) for swap in taken]
        return Counter(task.result() for task in tasks)

    async def _settle(self, swap: Swap) -> Ending:
        plan = Plan.from_bytes(swap.outputs)
        try:
            # This try is counted already: a second one may follow a POST that did go through.
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
        await self._swaps.done(swap, finished.earned, finished.refund)
        return "done"

    async def _keyset(self, keyset_id: str) -> Keyset:
        keyset = (await self._book.get()).get(keyset_id)
        keyset = keyset or (await self._book.reload()).get(keyset_id)
        if keyset is None:
            message = "the mint no longer lists the keyset of a swap"
            raise MintUnknown(message)
        return keyset

    async def _restored(self, plan: Plan) -> list[BlindSignature] | None:
        """The mint's signatures on the plan's outputs, or nothing if it never signed them."""
        found = (await self._mint.restore(plan.messages())).signatures
        signatures = [found[output.b] for output in plan.outputs if output.b in found]
        if signatures and len(signatures) < len(plan.outputs):
            message = f"only {len(signatures)} of {len(plan.outputs)} outputs were signed"
            raise BadAnswer(message)
        return signatures or None

    # ── what did not go well ──

    async def _after_unknown(self, swap: Swap, plan: Plan, error: Exception) -> Ending:
        if isinstance(error, MintUnknown):
            return await self._put_off(swap, error)
        # The answer was bad. If the mint did sign, it may tell the truth when it is asked again.
        try:
            signatures = await self._restored(plan)
            if signatures is not None:
                return await self._finish(swap, plan, signatures)
        except (MintUnknown, MintRefused) as unknown:
            return await self._put_off(swap, unknown)
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
            return await self._put_off(swap, unknown)
        except BadAnswer as bad:
            return await self._stuck(swap, bad)

    async def _decide(self, swap: Swap, plan: Plan, refused: MintRefused) -> Ending:
        """A definite refusal, and the mint has signed none of the outputs."""
        now = self._clock.now()
        if refused.mint_code == MintRefused.SPENT:
            if now < swap.locktime:
                return await self._stuck(swap, refused)  # only our key could have spent it
            await self._swaps.lost(swap, str(refused))
            return "lost"
        if refused.mint_code in MintRefused.PENDING:
            since = swap.pending_at
            if since is not None and now - since >= self._patience.pending_is_stuck:
                return await self._stuck(swap, refused)
            return await self._put_off(swap, refused, is_pending=True)
        if refused.mint_code in MintRefused.KEYSET:
            return await self._make_anew(swap, plan, refused)
        return await self._stuck(swap, refused)

    async def _make_anew(self, swap: Swap, plan: Plan, refused: MintRefused) -> Ending:
        inputs = Inputs.of(swap.body)
        if set(await self._mint.states(inputs.ys)) != {"UNSPENT"}:
            return await self._put_off(swap, refused, is_pending=True)
        keysets = await self._book.reload()
        if not all(map(keysets.get, inputs.keyset_ids)):
            return await self._stuck(swap, refused)  # this is not the mint that the money is at
        active = keysets.active(self._unit)
        if active is None or active.id == plan.keyset_id:
            # What we know of the mint's keysets may be as old as the book's patience.
            if swap.tries >= _UNKNOWN_TRIES_BEFORE_KEYSET_ALARM:
                return await self._stuck(swap, refused)
            return await self._put_off(swap, refused)
        if swap.attempt >= self._patience.max_attempts:
            return await self._stuck(swap, refused)
        await self._swaps.supersede(swap, self._prepare(active), str(refused))
        return "superseded"

    async def _put_off(self, swap: Swap, why: Exception, *, is_pending: bool = False) -> Ending:
        if swap.status == "stuck":
            return await self._stuck(swap, why)
        after = self._patience.wait(swap.tries)
        await self._swaps.put_off(swap, str(why), after=after, is_pending=is_pending)
        return "put_off"

    async def _stuck(self, swap: Swap, why: Exception) -> Ending:
        await self._swaps.stuck(swap, str(why), look_again=self._patience.stuck_look_again)
        return "stuck"

    # ── refunds ──

    async def ask_after_refunds(self, *, limit: int = 50) -> int:
        """Ask the mint, in one request, which refunds were taken."""
        refunds = await self._refunds.unclaimed(limit=limit)
        ys = [bytes.fromhex(y) for refund in refunds for y in refund.ys]
        if not ys:
            return 0
        try:
            states = dict(zip(ys, await self._mint.states(ys), strict=True))
        except (MintUnknown, MintRefused):
            return 0
        taken = [
            refund.refund_id
            for refund in refunds
            if all(states[bytes.fromhex(y)] == "SPENT" for y in refund.ys)
        ]
        await self._refunds.claimed(taken)
        return len(taken)
