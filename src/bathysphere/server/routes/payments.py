"""Payments: open a session, deposit (as NUT-24 does), see the balance, close, be refunded."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.jsonable import JSON
from bathysphere.server.payments.access import Payment, payment_of, session_json
from bathysphere.server.schemas.payments import (
    Deposit,
    DepositView,
    RefundsView,
    SessionOpen,
    SessionView,
    TermsView,
)
from bathysphere.server.strict import StrictRoute

router = APIRouter(tags=["payments"], route_class=StrictRoute)
PaymentDep = Annotated[Payment, Depends(payment_of)]
XCashu = Annotated[str | None, Header(alias="X-Cashu", max_length=60_000)]


class PaymentRequired(CallerError):
    """The request carries no token; the answer's `X-Cashu` says what to pay."""

    code = "payment_required"


@router.get("/payments", response_model=TermsView)
async def terms(services: ServicesDep) -> Response:
    """Whether use is paid for, what it costs and where: before anything is run."""
    if services.payments is None:
        return JSON({"enabled": False})
    terms = services.payments.till.terms
    return JSON(
        {
            "enabled": True,
            "mint": terms.mint_url,
            "unit": terms.unit,
            "topup": terms.topup,
            "price": asdict(terms.price),
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
    """Open an account for the thread, or show the one that is open with this key."""
    await services.threads.get(thread_id, owner=owner)
    session = await payment.till.open(
        str(thread_id), payer=payment.payer, refund_key=body.refund_key
    )
    bill = await payment.bill(thread_id)
    return JSON(session_json(session, bill.request))


@router.get("/threads/{thread_id}/payments", response_model=SessionView)
async def show(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """The thread's newest account."""
    session = await payment.till.session(str(thread_id), payer=payment.payer)
    request = (await payment.bill(thread_id)).request if session.status == "open" else None
    return JSON(session_json(session, request))


@router.post("/threads/{thread_id}/payments/deposit", response_model=DepositView)
async def deposit(
    thread_id: ThreadId,
    payment: PaymentDep,
    x_cashu: XCashu = None,
    body: Annotated[Deposit | None, Body()] = None,
) -> Response:
    """Pay in. Without a token the answer is 402, and its `X-Cashu` a payment request."""
    token = x_cashu or (body.token if body is not None else None)
    if not token:
        return await _payment_required(thread_id, payment)
    done = await payment.till.deposit(str(thread_id), token, payer=payment.payer)
    view: dict[str, Any] = {"credited": done.credited, "is_new": done.is_new}
    return JSON({**view, "session": session_json(done.session, None)})


@router.post("/threads/{thread_id}/payments/close", response_model=SessionView)
async def close(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """End the account; what was not spent goes back as soon as the mint answers."""
    session = await payment.till.close(str(thread_id), payer=payment.payer)
    return JSON(session_json(session, None))


@router.get("/threads/{thread_id}/payments/refunds", response_model=RefundsView)
async def refunds(thread_id: ThreadId, payment: PaymentDep) -> Response:
    """What went back, as often as it is asked for; `is_settled` says that no more will come."""
    session = await payment.till.session(str(thread_id), payer=payment.payer)
    given = await payment.till.refunds(str(thread_id), payer=payment.payer)
    names = ("refund_id", "session_id", "amount", "status", "token")
    views = [{name: getattr(one, name) for name in names} for one in given]
    return JSON({"is_settled": session.status == "closed", "refunds": views})


async def _payment_required(thread_id: ThreadId, payment: Payment) -> Response:
    await payment.till.session(str(thread_id), payer=payment.payer)
    bill = await payment.bill(thread_id)
    error = PaymentRequired("send a token that pays the request", hint="in the header X-Cashu")
    body = {
        "error": error.code,
        "message": error.message,
        "hint": error.hint,
        "detail": str(error),
        "request": bill.request,
    }
    return JSON(body, status_code=402, headers={"X-Cashu": bill.request or ""})
