"""Payments: charges for each model call, in every agent of the tree.

Active only if the run's context has a purse (`core.payments`, under `payments`). Each model call is
charged in advance and its answer recorded, by `metering`. The ledger is authoritative; graph state
has a copy for display. An empty balance pauses the run with an interrupt of type
`payment_exhausted`; if the person declines, the run ends with an ordinary answer that says so.

Order: inside Limits, right around the model, so that each retry is charged, a call stopped by a
limit is not, and a repeated step does everything except calling the model. State:
`payment_balance_sats`, `payment_spent_sats`, `payment_status`, `payment_declined_run`.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
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
from bathysphere.core.writers import ByEngine
from bathysphere.middleware.payments.metering import Declined, metered, purse_of
from bathysphere.models.endings import ending
from bathysphere.models.tokens import Limit, limit_output, limit_settings, tokenizer_of
from bathysphere.upstream import collect_allowlist_from_schemas

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
PaymentStatus = Literal["paid", "declined"]

# ── text for the person ──

DECLINED = "Stopped: the next step was not paid for."

# ── state ──


def newest(_: Any, right: Any) -> Any:
    """Reducer that keeps the last write; several agents may write at once."""
    return right


class PaymentsState(AgentState[Any]):
    """Payment data for display; never trusted."""

    payment_balance_sats: NotRequired[Annotated[ByEngine[int | None], newest]]
    payment_spent_sats: NotRequired[Annotated[ByEngine[int | None], newest]]
    payment_status: NotRequired[Annotated[ByEngine[PaymentStatus], newest]]
    payment_declined_run: NotRequired[Annotated[ByEngine[str | None], newest]]
    """The run in which the person declined to pay."""


# ── middleware ──


class PaymentsMiddleware(AgentMiddleware[PaymentsState, Any, Any]):
    """Charges each model call in advance, in paid runs."""

    state_schema = PaymentsState

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model; paid runs must be async."""
        if purse_of(request.runtime) is not None:
            raise ConfigError("Paid runs must be async", hint="use ainvoke or astream")
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Handler
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Call the model after it was paid for."""
        purse = purse_of(request.runtime)
        if purse is None:
            return await handler(request)
        if _was_declined(request.state):
            return _declined(request.state)

        limited = request.override(
            model=limit_output(request.model, purse.max_output),
            model_settings=limit_settings(request.model_settings, purse.max_output),
        )

        async def ask() -> dict[str, Any]:
            response = await handler(limited)
            return {"result": response.result, "structured": response.structured_response}

        try:
            done = await metered(
                ask,
                question=lambda: _question(request),
                answer=lambda response: response["result"],
                purse=purse,
                types=_structured_types(request),
                tokenizer=tokenizer_of(request.model),
            )
        except Declined:
            return _declined(request.state)
        response = ModelResponse(
            result=done.result["result"], structured_response=done.result["structured"]
        )
        return _with_update(response, _projection(done.paid))


async def metered_summary(
    write: Callable[[Limit], Awaitable[str]], history: list[Any]
) -> str | None:
    """Write a summary as a paid call; None if the person declined."""
    purse = purse_of(get_runtime())
    if purse is None:
        return await write(lambda model: model)

    try:
        done = await metered(
            lambda: write(lambda model: limit_output(model, purse.max_output)),
            question=lambda: [DEFAULT_SUMMARY_PROMPT, *history],
            answer=lambda text: [AIMessage(text)],
            purse=purse,
            name="summary ",
        )
    except Declined:
        return None
    return done.result


def _was_declined(state: Any) -> bool:
    """Whether the person declined anywhere in this run; they are not asked again."""
    run_id = state.get("run_id")
    return run_id is not None and state.get("payment_declined_run") == run_id


def _declined(state: Any) -> ExtendedModelResponse[Any]:
    update = {"payment_status": "declined", "payment_declined_run": state.get("run_id")}
    return _with_update(ModelResponse(result=[ending(DECLINED, "payments")]), update)


def _structured_types(request: ModelRequest[Any]) -> set[tuple[str, ...]]:
    """The types in the agent's structured answer."""
    wanted: Any = request.response_format
    schema = getattr(wanted, "schema", wanted)
    return collect_allowlist_from_schemas(schemas=[schema]) if schema is not None else set()


def _question(request: ModelRequest[Any]) -> list[Any]:
    system = [request.system_message] if request.system_message is not None else []
    return [*system, *request.messages, *request.tools, *_schemas(request.response_format)]


def _schemas(form: Any) -> list[Any]:
    """The JSON schemas of a structured answer, which are sent to the model."""
    specs = getattr(form, "schema_specs", None) or [getattr(form, "schema_spec", None)]
    known = [spec.json_schema for spec in specs if spec is not None]
    schema = getattr(form, "schema", None)
    return known or ([schema] if schema is not None else [])


def _projection(paid: Paid | None) -> dict[str, Any]:
    if paid is None:
        return {}
    return {
        "payment_balance_sats": paid.balance,
        "payment_spent_sats": paid.spent,
        "payment_status": "paid",
    }


def _with_update(
    response: ModelResponse[Any], update: dict[str, Any]
) -> ExtendedModelResponse[Any]:
    return ExtendedModelResponse(model_response=response, command=Command(update=update))
