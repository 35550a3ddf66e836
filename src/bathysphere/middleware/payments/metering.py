"""Metering: charges for model calls, anywhere in the tree of agents.

`metered` charges before the call, records the answer, and returns the recorded answer when the step
is repeated: one charge per answer, however often a run is resumed. The key of a charge is the
call's position: namespace, task, and its number among the task's answers (a failed call releases
its number, so that a retry has the same key). Without sufficient balance the run pauses with an
interrupt of type `payment_exhausted`, always before the call.

Code that calls a model directly, not through an agent's stack, must wrap the call in `metered`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, RootModel

from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.payments import NotDurable, Owed, Paid, Purse
from bathysphere.core.run_context import context_of
from bathysphere.models.observer import CallObserver, observed
from bathysphere.models.tokens import Tokenizer, count_input
from bathysphere.upstream import CONFIG_KEY_DURABILITY, CONFIG_KEY_READ

T = TypeVar("T")
_TRIES = 3

# ── text for the person ──

NO_ACCOUNT = (
    "open an account with `POST /threads/{id}/payments`, or set a budget in the browser;"
    ' then answer `{"action": "retry"}`'
)

# ── questions and answers ──


class TokenGiven(BaseModel):
    """An answer that contains a payment."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=60_000)


class PaymentDecision(BaseModel):
    """An answer without a payment: retry, if it was paid elsewhere, or decline."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["retry", "decline"]


class PaymentAnswer(RootModel[TokenGiven | PaymentDecision]):
    """The answer to `payment_exhausted`."""


class Declined(CallerError):
    """The person declined to pay for the call."""

    code = "payment_declined"


# ── a paid call ──


@dataclass(frozen=True, slots=True)
class Metered(Generic[T]):
    """The result of a call and the account after it; `paid` is None in unpaid runs."""

    result: T
    paid: Paid | None


def purse_of(runtime: Any) -> Purse | None:
    """The purse from the run's trusted context; None if the run is not paid."""
    return context_of(runtime).payments


def _current_purse() -> Purse | None:
    try:
        return purse_of(get_runtime())
    except (RuntimeError, KeyError):  # outside a run, nothing is charged
        return None


async def metered(
    ask: Callable[[], Awaitable[T]],
    *,
    question: Callable[[], list[Any]],
    answer: Callable[[T], list[BaseMessage]],
    purse: Purse | None = None,
    name: str = "",
    types: Collection[tuple[str, ...]] = (),
    tokenizer: Tokenizer | None = None,
) -> Metered[T]:
    """Call a model after charging for it.

    The caller limits the model's output to `purse.max_output` (`models.tokens.limit_output`).

    Args:
        ask: Calls the model.
        question: The messages and tools sent, for counting tokens.
        answer: The messages in the result of `ask`, for counting tokens.
        purse: The purse to charge; defaults to the one in the run's context.
        name: Distinguishes concurrent calls of one task.
        types: Module and name of each type that a recorded answer may contain, besides
            messages and plain data.
        tokenizer: Counts tokens; by default, an upper bound is used.

    Raises:
        Declined: The person declined to pay.
        NotDurable: The run could be charged twice for one call.
    """
    purse = purse or _current_purse()
    if purse is None:
        return Metered(await ask(), None)
    with _call_key(name) as key:
        call = _Call(purse, key, ask, lambda: count_input(question(), tokenizer), answer, types)
        for _ in range(_TRIES):
            paid = await _pay(purse, key, purse.quote(call.tokens_in))
            if paid.answer is not None:
                return Metered(_read(paid.answer, types), paid)
            if (done := await call.make()) is not None:
                return done
    raise UpstreamError("The charge was voided repeatedly during the model call")


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    purse: Purse
    key: str
    ask: Callable[[], Awaitable[T]]
    tokens_in: Callable[[], int]
    answer: Callable[[T], list[BaseMessage]]
    types: Collection[tuple[str, ...]]

    async def make(self) -> Metered[T] | None:
        """Call the model and record its answer; None if the charge was voided meanwhile."""
        with observed() as observer:
            try:
                result = await self.ask()
            except asyncio.CancelledError:
                await asyncio.shield(self._cancelled(observer))
                raise
            except BaseException:
                await asyncio.shield(self.purse.void(self.key))
                raise
        messages = self.answer(result)
        cost = self.purse.cost(
            lambda: (
                _reported(messages, "input_tokens") or observer.input_tokens or self.tokens_in()
            ),
            lambda: (
                _reported(messages, "output_tokens")
                or observer.output_tokens
                or count_input(messages)
            ),
        )
        paid = await self.purse.complete(self.key, cost, _serialized(result))
        if isinstance(paid, Owed):
            return None
        if paid.answer is not None:  # another attempt at the same step finished first
            return Metered(_read(paid.answer, self.types), paid)
        return Metered(result, paid)

    async def _cancelled(self, observer: CallObserver) -> None:
        # Streamed output was delivered. A repeated call has the same key and keeps the charge.
        if observer.has_streamed:
            await self.purse.mark_streamed(self.key)
        await self.purse.keep(self.key)


async def _pay(purse: Purse, key: str, amount: int) -> Paid:
    error: dict[str, str] | None = None
    while True:
        paid = await purse.charge(key, amount)
        if isinstance(paid, Paid):
            return paid
        answer = await _request_payment(purse, paid, amount, error)
        error = None
        if isinstance(answer, TokenGiven):
            try:
                await purse.deposit(answer.token)
            except (CallerError, UpstreamError) as refusal:
                if refusal.ends_run:
                    raise
                error = {"code": refusal.code, "message": refusal.message}
        elif answer.action == "decline":
            raise Declined("The person declined to pay for the next step")


async def _request_payment(
    purse: Purse, owed: Owed, amount: int, error: dict[str, str] | None
) -> TokenGiven | PaymentDecision:
    bill = await purse.bill(amount)
    value = {
        "type": "payment_exhausted",
        "reason": owed.reason,
        "needed_sats": amount,
        "balance_sats": owed.balance,
        "suggested_sats": bill.suggested,
        "mint": bill.mint,
        "unit": bill.unit,
        "request": bill.request,
        "hint": NO_ACCOUNT if bill.request is None else None,
        "error": error,
    }
    answer: PaymentAnswer = interrupt(value, response_schema=PaymentAnswer)
    return answer.root


_numbers: "WeakKeyDictionary[Any, set[tuple[str, int]]]" = WeakKeyDictionary()
"""Execution of a task → numbers of its answered and pending calls."""


@contextmanager
def _call_key(name: str) -> Iterator[str]:
    """The key of a call: the same when its step is repeated, new in a new step."""
    info, config = get_runtime().execution_info, get_config()["configurable"]
    if info is None or info.thread_id is None:
        raise NotDurable("Paid runs need a checkpointer", hint="build the graph with one")
    if config.get(CONFIG_KEY_DURABILITY) != "sync":
        raise NotDurable(
            "Paid runs need synchronous durability",
            hint='run the graph with durability="sync"',
        )
    # LangGraph creates this object each time it executes a task.
    taken = _numbers.setdefault(config[CONFIG_KEY_READ], set())
    number = next(n for n in itertools.count() if (name, n) not in taken)
    taken.add((name, number))
    try:
        yield f"{info.checkpoint_ns}|{info.task_id}|{name}{number}"
    except BaseException:
        taken.discard((name, number))
        raise


def _reported(messages: list[BaseMessage], what: str) -> int:
    reports = [getattr(message, "usage_metadata", None) or {} for message in messages]
    return sum(int(report.get(what, 0)) for report in reports)


def _serialized(result: Any) -> bytes:
    kind, data = JsonPlusSerializer(allowed_msgpack_modules=None).dumps_typed(result)
    return kind.encode() + b"\0" + data


def _read(answer: bytes, types: Collection[tuple[str, ...]] = ()) -> Any:
    kind, _, data = answer.partition(b"\0")
    strict = JsonPlusSerializer(allowed_msgpack_modules=sorted(types))
    return strict.loads_typed((kind.decode(), data))
