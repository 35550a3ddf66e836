"""Payment routes: open a session, deposit (NUT-24), read the balance, close, get refunds."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.payments.access import Payment, payment_of, session_json
from bathysphere.server.payments.schemas import (
    Deposit,
    DepositView,
    RefundsView,
    SessionOpen,
    SessionView,
    TermsView,
)

router = APIRouter(tags=["payments"], route_class=StrictRoute)
PaymentDep = Annotated[Payment, Depends(payment_of)]
XCashu = Annotated[str | None, Header(alias="X-Cashu", max_length=60_000)]


class PaymentRequired(CallerError):
    """The request has no token; the response's `X-Cashu` header contains a payment request."""

    code = "payment_required"


@router.get("/payments", response_model=TermsView)
async def terms(services: ServicesDep) -> Response:
    """Whether payments are enabled, the prices and the mint."""
    if services.payments is None:
        return JSON({"enabled": False})
    terms, sat_value = services.payments.service.terms, services.payments.sat_value
    return JSON(
        {
            "enabled": True,
            "mint": terms.mint_url,
            "unit": terms.unit,
            "topup": terms.topup,
            "price": asdict(terms.price),
            "rate": asdict(sat_value) if sat_value is not None else None,
        }
    )


@router.post("/threads/{thread_id}/payments", response_model=SessionView)
async def open_session(
    thread_id: ThreadId,
    body: SessionOpen,
    owner: CurrentOwner,
    services: ServicesDep,
    payment: PaymentDep,
) -> Response:
    """Open a payment session for the thread, or return the open one with this key."""
    await services.threads.get(thread_id, owner=owner)
    session = await payment.service.open(
        str(thread_id), payer=payment.payer, refund_key=body.refund_key
    )
    bill = await payment.bill(thread_id)
    return JSON(session_json(session, bill.request))


@router.get("/threads/{thread_id}/payments", response_model=SessionView)
async def show(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """Get the thread's newest payment session."""
    session = await payment.service.session(str(thread_id), payer=payment.payer)
    request = (await payment.bill(thread_id)).request if session.status == "open" else None
    return JSON(session_json(session, request))


@router.post("/threads/{thread_id}/payments/deposit", response_model=DepositView)
async def deposit(
    thread_id: ThreadId,
    payment: PaymentDep,
    x_cashu: XCashu = None,
    body: Annotated[Deposit | None, Body()] = None,
) -> Response:
    """Deposit a token. Without one the response is 402, with a payment request in `X-Cashu`."""
    token = x_cashu or (body.token if body is not None else None)
    if not token:
        return await _payment_required(thread_id, payment)
    done = await payment.service.deposit(str(thread_id), token, payer=payment.payer)
    view: dict[str, Any] = {"credited": done.credited, "is_new": done.is_new}
    return JSON({**view, "session": session_json(done.session, None)})


@router.post("/threads/{thread_id}/payments/close", response_model=SessionView)
async def close(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """Close the session; the rest is refunded as soon as the mint responds."""
    session = await payment.service.close(str(thread_id), payer=payment.payer)
    return JSON(session_json(session, None))


@router.get("/threads/{thread_id}/payments/refunds", response_model=RefundsView)
async def refunds(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """List the thread's refunds, repeatably; `is_settled` means that no more will follow."""
    session = await payment.service.session(str(thread_id), payer=payment.payer)
    made = await payment.service.refunds(str(thread_id), payer=payment.payer)
    names = ("refund_id", "session_id", "amount", "status", "token")
    views = [{name: getattr(refund, name) for name in names} for refund in made]
    return JSON({"is_settled": session.status == "closed", "refunds": views})


async def _payment_required(thread_id: ThreadId, payment: Payment) -> Response:
    await payment.service.session(str(thread_id), payer=payment.payer)
    bill = await payment.bill(thread_id)
    error = PaymentRequired(
        "Payment required", hint="send a token for this request in the X-Cashu header"
    )
    body = {
        "error": error.code,
        "message": error.message,
        "hint": error.hint,
        "detail": str(error),
        "request": bill.request,
    }
    return JSON(body, status_code=402, headers={"X-Cashu": bill.request or ""})
