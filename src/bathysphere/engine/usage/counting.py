"""Count the model and tool calls of a graph, any graph, by LangChain's callbacks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp

from bathysphere.core.budgets import SpentBudget, budget_check, spent_budget
from bathysphere.core.clock import Clock
from bathysphere.engine.database.outages import retry_storage
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.errors import BudgetExceeded
from bathysphere.engine.records import Run
from bathysphere.engine.usage.budgets import Budgets
from bathysphere.engine.usage.journal import (
    NOTHING,
    CallJournal,
    PriceOf,
    Remainder,
    no_price,
)
from bathysphere.models.resolve import NAME_KEY

_log = logging.getLogger(__name__)
_current: ContextVar["CallCounter | None"] = ContextVar("bathysphere_call_counter", default=None)
_gate: ContextVar["BudgetGate | None"] = ContextVar("bathysphere_budget_gate", default=None)


@cache
def _register() -> None:
    register_configure_hook(_current, inheritable=True)
    register_configure_hook(_gate, inheritable=False)  # so it is the last handler of every call


class RunUsage:
    """Counts what the attempts of a worker use."""

    def __init__(
        self,
        pool: Pool,
        *,
        clock: Clock,
        price_of: PriceOf = no_price,
        budgets: Budgets | None = None,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._price_of = price_of
        self._budgets = budgets

    @asynccontextmanager
    async def counted(self, run: Run) -> AsyncIterator[None]:
        """Count the calls that are made inside the block, in its context."""
        _register()
        journal = CallJournal(self._pool, run, clock=self._clock, price_of=self._price_of)
        counter = CallCounter(journal)
        token, gate = _current.set(counter), _gate.set(BudgetGate(counter))
        check = partial(self._budgets.spent, run.owner) if self._budgets is not None else None
        checking = budget_check.set(check)
        try:
            yield
        finally:
            # Also for an attempt that was superseded: the model was asked.
            await self.settle()
            _current.reset(token)
            _gate.reset(gate)
            budget_check.reset(checking)

    async def settle(self) -> Remainder:
        """Store all calls so far; return what is left for the run's own row."""
        counter = _current.get()
        return NOTHING if counter is None else await retry_storage(counter.settle)


class CallCounter(BaseCallbackHandler):
    """Tells the journal of each call.

    An async model call waits until its row is stored. A model that is called synchronously does
    not: it may block the event loop that has to store it.
    """

    run_inline = True  # the row comes before the call, and nothing else of LangChain's events costs
    ignore_chain = True
    ignore_retriever = True
    ignore_custom_event = True

    def __init__(self, journal: CallJournal) -> None:
        self._journal = journal
        self.refused: dict[UUID, SpentBudget] = {}
        """Calls that no budget is left for; `BudgetGate` stops them."""
        self._loop = asyncio.get_running_loop()
        self._unwaited: set[Any] = set()

    async def settle(self) -> Remainder:
        """Store all calls so far."""
        if unwaited := [asyncio.wrap_future(each) for each in list(self._unwaited)]:
            await asyncio.wait(unwaited)
        return await self._journal.close()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Record that a chat model is about to be asked."""
        await self._begin(run_id, _model(serialized, metadata), messages[0])

    async def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Record that a model without chat is about to be asked."""
        await self._begin(run_id, _model(serialized, metadata), [HumanMessage(prompts[0])])

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """Record the tokens of an answer: the provider's count, else an estimate."""
        messages = _messages(response)
        reported = [each for each in (_reported(message) for message in messages) if each]
        if reported:
            end = self._journal.end(
                run_id,
                input_tokens=sum(int(each["input_tokens"]) for each in reported),
                output_tokens=sum(int(each["output_tokens"]) for each in reported),
            )
        else:
            written = _estimate(messages)
            end = self._journal.end(run_id, output_tokens=written, is_estimated=True)
        await self._on_loop(end)

    async def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        response: LLMResult | None = None,
        **_: Any,
    ) -> None:
        """Record a call that failed: nothing, unless it was cut off while it answered."""
        messages = _messages(response) if response is not None else []
        if messages or isinstance(error, asyncio.CancelledError):
            written = _estimate(messages)
            end = self._journal.end(run_id, output_tokens=written, is_estimated=True)
        else:
            end = self._journal.end(run_id, input_tokens=0)
        await self._on_loop(end)

    def on_tool_end(self, *_: Any, **__: Any) -> None:
        """Count a tool call."""
        self._journal.count_tool()

    def on_tool_error(self, error: BaseException, **_: Any) -> None:
        """Count a tool call that failed, but not one that waits for a person."""
        if not isinstance(error, GraphBubbleUp):
            self._journal.count_tool()

    async def _begin(self, call_id: UUID, model: str, messages: Sequence[BaseMessage]) -> None:
        tokens = _estimate(messages)
        try:
            if self._has_gate() and (spent := await spent_budget()):
                self.refused[call_id] = spent
                return
            await self._on_loop(self._journal.begin(call_id, model=model, input_tokens=tokens))
        except asyncio.CancelledError:
            _cancel_at_next_wait()

    def _has_gate(self) -> bool:
        return asyncio.get_running_loop() is self._loop and _gate.get() is not None

    async def _on_loop(self, event: Coroutine[Any, Any, None]) -> None:
        if asyncio.get_running_loop() is self._loop:
            await event
            return
        future = asyncio.run_coroutine_threadsafe(event, self._loop)
        self._unwaited.add(future)
        future.add_done_callback(self._unwaited.discard)


class BudgetGate(BaseCallbackHandler):
    """Stops calls for which no budget is left, by an error.

    Where the agent has limits, its run has ended with a sentence before this. It is a handler of
    its own because an error of any but the last one leaves LangChain's calls of the rest unawaited.
    """

    run_inline = True
    raise_error = True
    ignore_chain = True
    ignore_retriever = True
    ignore_custom_event = True

    def __init__(self, counter: CallCounter) -> None:
        self._counter = counter

    async def on_chat_model_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Stop a call of a chat model."""
        self._check(run_id)

    async def on_llm_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Stop a call of a model without chat."""
        self._check(run_id)

    def _check(self, call_id: UUID) -> None:
        if spent := self._counter.refused.pop(call_id, None):
            raise BudgetExceeded.of(spent)


def _cancel_at_next_wait() -> None:
    """Be cancelled after LangChain has called the other handlers: it does not close them itself."""
    if (task := asyncio.current_task()) is not None:
        task.uncancel()  # the request is made again, not once more
        task.cancel()


def _estimate(messages: Sequence[BaseMessage]) -> int:
    try:
        return count_tokens_approximately(messages)
    except (AttributeError, KeyError, TypeError, ValueError):  # messages of any graph
        _log.exception("The tokens of a model call could not be estimated")
        return 0


def _model(serialized: dict[str, Any] | None, metadata: dict[str, Any] | None) -> str:
    """The `provider:name` of a model, or the best name that LangChain knows."""
    known = metadata or {}
    if NAME_KEY in known:
        return str(known[NAME_KEY])
    name = str(known.get("ls_model_name") or (serialized or {}).get("name") or "unknown")
    provider = known.get("ls_provider")
    return f"{provider}:{name}" if provider else name


def _messages(response: LLMResult) -> list[BaseMessage]:
    found = []
    for generation in (each for batch in response.generations for each in batch):
        message = getattr(generation, "message", None)
        found.append(message if message is not None else HumanMessage(generation.text))
    return found


def _reported(message: BaseMessage) -> dict[str, Any] | None:
    usage: dict[str, Any] | None = getattr(message, "usage_metadata", None)
    return usage or None
