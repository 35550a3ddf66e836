"""Metering: a model call that is paid for, wherever in the tree of agents it is made.

`metered` charges before the call, keeps the answer after it, and gives the kept answer back when
the step is run again: one charge for one answer, however often a run is taken up. The key of a
charge is the call's place: namespace, task, and its number among the task's answers (a call that
failed gives its number back, so that trying again is the same call). When there is no money
the run pauses with an interrupt of type `payment_exhausted`, before the call and never after.

What calls a model directly, and not through an agent's stack, wraps the call in `metered` itself.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph._internal._constants import CONFIG_KEY_DURABILITY, CONFIG_KEY_READ
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, RootModel

from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.payments import NotDurable, Owed, Paid, Purse

T = TypeVar("T")
_TRIES = 3

# ── what is asked and what may be answered ──


class TokenGiven(BaseModel):
    """An answer with money in it."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=60_000)


class Said(BaseModel):
    """An answer without: try again, because it was paid elsewhere, or do not pay."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["retry", "decline"]


class PaymentAnswer(RootModel[TokenGiven | Said]):
    """The answer to `payment_exhausted`."""


class Declined(CallerError):
    """The person does not pay for the call."""

    code = "payment_declined"


# ── a paid call ──


@dataclass(frozen=True, slots=True)
class Metered(Generic[T]):
    """What a paid call gave, and what the account has after it; None where nothing is paid."""

    result: T
    paid: Paid | None


def purse_of(context: Any) -> Purse | None:
    """The run's purse, from its context; None: nothing is charged."""
    if isinstance(context, Mapping):
        return context.get("payments")
    return getattr(context, "payments", None)


def _purse_of_the_run() -> Purse | None:
    try:
        return purse_of(get_runtime().context)
    except (RuntimeError, KeyError):  # called outside a run: nobody pays
        return None


async def metered(
    ask: Callable[[], Awaitable[T]],
    *,
    question: Callable[[], list[Any]],
    answer: Callable[[T], list[BaseMessage]],
    purse: Purse | None = None,
    name: str = "",
) -> Metered[T]:
    """Call a model once it is paid for.

    Args:
        ask: Calls the model.
        question: What it is asked, to count tokens where they cost.
        answer: The messages of what `ask` gave, to count tokens where they cost.
        purse: Who pays; not given: the purse in the run's context.
        name: Tells calls apart that one task makes at the same time.

    Raises:
        Declined: The person does not pay.
        NotDurable: The run could be charged twice for one call.
    """
    purse = purse or _purse_of_the_run()
    if purse is None:
        return Metered(await ask(), None)
    with _place(name) as key:
        call = _Call(purse, key, ask, lambda: count_tokens_approximately(question()), answer)
        for _ in range(_TRIES):
            paid = await _pay(purse, key, purse.quote(call.tokens_in))
            if paid.answer is not None:
                return Metered(_read(paid.answer), paid)
            if (done := await call.make()) is not None:
                return done
    raise UpstreamError("a call's charge was voided again and again while the model answered")


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    purse: Purse
    key: str
    ask: Callable[[], Awaitable[T]]
    tokens_in: Callable[[], int]
    answer: Callable[[T], list[BaseMessage]]

    async def make(self) -> Metered[T] | None:
        """Ask the model and keep its answer; None when the charge was voided meanwhile."""
        try:
            result = await self.ask()
        except asyncio.CancelledError:
            # What was streamed was delivered. Run again, the call has the same key and the charge.
            await asyncio.shield(self.purse.keep(self.key))
            raise
        except BaseException:
            await asyncio.shield(self.purse.void(self.key))
            raise
        messages = self.answer(result)
        cost = self.purse.cost(
            lambda: _reported(messages, "input_tokens") or self.tokens_in(),
            lambda: _reported(messages, "output_tokens") or count_tokens_approximately(messages),
        )
        paid = await self.purse.complete(self.key, cost, _written(result))
        if isinstance(paid, Owed):
            return None
        if paid.answer is not None:  # another attempt at the same step was first
            return Metered(_read(paid.answer), paid)
        return Metered(result, paid)


async def _pay(purse: Purse, key: str, amount: int) -> Paid:
    error: dict[str, str] | None = None
    while True:
        paid = await purse.charge(key, amount)
        if isinstance(paid, Paid):
            return paid
        answer = await _ask_for_money(purse, paid, amount, error)
        error = None
        if isinstance(answer, TokenGiven):
            try:
                await purse.deposit(answer.token)
            except (CallerError, UpstreamError) as refusal:
                if refusal.ends_run:
                    raise
                error = {"code": refusal.code, "message": refusal.message}
        elif answer.action == "decline":
            raise Declined("the person did not pay for the next step")


async def _ask_for_money(
    purse: Purse, owed: Owed, amount: int, error: dict[str, str] | None
) -> TokenGiven | Said:
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
        "error": error,
    }
    answer: PaymentAnswer = interrupt(value, response_schema=PaymentAnswer)
    return answer.root


_numbers: "WeakKeyDictionary[Any, set[tuple[str, int]]]" = WeakKeyDictionary()
"""Execution of a task → numbers of its calls that were answered or are under way."""


@contextmanager
def _place(name: str) -> Iterator[str]:
    """The call's place: the same when its step is run again, new in a new step."""
    info, config = get_runtime().execution_info, get_config()["configurable"]
    if info is None or info.thread_id is None:
        raise NotDurable("a paid run needs a checkpointer", hint="build the graph with one")
    if config.get(CONFIG_KEY_DURABILITY) != "sync":
        raise NotDurable(
            "a paid run must write each step down before the next",
            hint='run the graph with durability="sync"',
        )
    # LangGraph makes this object anew each time it executes a task.
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


def _written(result: Any) -> bytes:
    kind, data = JsonPlusSerializer().dumps_typed(result)
    return kind.encode() + b"\0" + data


def _read(answer: bytes) -> Any:
    kind, _, data = answer.partition(b"\0")
    return JsonPlusSerializer().loads_typed((kind.decode(), data))
