"""Payments: a model call is made when it is paid for, in every agent of the tree.

Off unless the run's context has a purse (`core.payments`, under `payments`). With one, each model
call is charged before it is made and its answer kept after, by `models.metering`; the ledger is the
truth, and what stands in graph state is a projection for those who watch. Reaching zero pauses the
run with an interrupt of type `payment_exhausted`; a person who declines gets an ordinary answer
that says so.

Order: inside Limits, right around the model, so that a call that another layer repeats is charged
for itself, a call that a limit refuses is not charged, and a step that is run again does everything
but ask the model. State: `payment_balance_sats`, `payment_spent_sats`, `payment_status`.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.messages import AIMessage
from langgraph.runtime import get_runtime
from langgraph.types import Command

from bathysphere.core.errors import ConfigError
from bathysphere.core.payments import Paid
from bathysphere.models.metering import Declined, metered, purse_of

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
PaymentStatus = Literal["paid", "declined"]

# ── words to the person ──

DECLINED = "Stopped here: the next step was not paid for."

# ── state ──


def newest(_: Any, right: Any) -> Any:
    """What was written last; several agents of a tree may write at once."""
    return right


class PaymentsState(AgentState[Any]):
    """What clients may show; nothing here is believed."""

    payment_balance_sats: NotRequired[Annotated[int | None, newest]]
    payment_spent_sats: NotRequired[Annotated[int | None, newest]]
    payment_status: NotRequired[Annotated[PaymentStatus, newest]]


# ── middleware ──


class PaymentsMiddleware(AgentMiddleware[PaymentsState, Any, Any]):
    """Charges each model call before it is made, where a run is paid for."""

    state_schema = PaymentsState

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model; a run that is paid for is async."""
        if purse_of(request.runtime.context) is not None:
            raise ConfigError("a paid run must be async", hint="use ainvoke or astream")
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Handler
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model once the call is paid for."""
        purse = purse_of(request.runtime.context)
        if purse is None:
            return await handler(request)

        async def ask() -> dict[str, Any]:
            response = await handler(request)
            return {"result": response.result, "structured": response.structured_response}

        try:
            done = await metered(
                ask,
                question=lambda: _question(request),
                answer=lambda given: given["result"],
                purse=purse,
            )
        except Declined:
            stop = ModelResponse(result=[AIMessage(DECLINED)])
            return _showing(stop, {"payment_status": "declined"})
        response = ModelResponse(
            result=done.result["result"], structured_response=done.result["structured"]
        )
        return _showing(response, _projection(done.paid))


async def metered_summary(write: Callable[[], Awaitable[str]], history: list[Any]) -> str | None:
    """A summary that is paid for like every call; None when the person declined."""
    if purse_of(get_runtime().context) is None:
        return await write()
    try:
        done = await metered(
            write,
            question=lambda: history,
            answer=lambda text: [AIMessage(text)],
            name="summary ",
        )
    except Declined:
        return None
    return done.result


def _question(request: ModelRequest[Any]) -> list[Any]:
    system = [request.system_message] if request.system_message is not None else []
    return [*system, *request.messages]


def _projection(paid: Paid | None) -> dict[str, Any]:
    if paid is None:
        return {}
    return {
        "payment_balance_sats": paid.balance,
        "payment_spent_sats": paid.spent,
        "payment_status": "paid",
    }


def _showing(response: ModelResponse[Any], update: dict[str, Any]) -> ExtendedModelResponse[Any]:
    return ExtendedModelResponse(model_response=response, command=Command(update=update))
