"""The payment dependency of the routes: the payment service and the payer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.core.payments import Bill
from bathysphere.server.deps import CurrentOwner, ServicesDep

if TYPE_CHECKING:
    from bathysphere.payments.ledger.records import Session
    from bathysphere.payments.service import PaymentService


class PaymentsOff(CallerError):
    """Payments are disabled on this server."""

    code = "payments_off"


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """The payment service for one payer."""

    service: "PaymentService"
    payer: Owner

    async def bill(self, thread_id: UUID) -> Bill:
        """Create a payment request for the thread's account."""
        return await self.service.bill(str(thread_id), 0, payer=self.payer)


async def payment_of(owner: CurrentOwner, services: ServicesDep) -> Payment:
    """Return the payment service for the caller.

    Raises:
        PaymentsOff: Payments are disabled.
    """
    if services.payments is None:
        raise PaymentsOff("Payments are disabled on this server", hint="start runs without paying")
    return Payment(service=services.payments.service, payer=owner)


def session_json(session: "Session", request: str | None) -> dict[str, Any]:
    """A session as JSON."""
    names = (
        "session_id", "thread_id", "epoch", "status", "unit", "credited", "spent", "refunded",
        "balance",
    )  # fmt: skip
    return {
        **{name: getattr(session, name) for name in names},
        "mint": session.mint_url,
        "session_key": session.session_pubkey,
        "refund_key": session.refund_pubkey,
        "expires_at": session.expires_at.isoformat() if session.expires_at else None,
        "request": request,
    }
