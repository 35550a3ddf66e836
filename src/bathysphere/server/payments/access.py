"""What the routes of payment are given: the till, and whose money it is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bathysphere.core.errors import CallerError
from bathysphere.core.payments import Bill
from bathysphere.server.deps import CurrentOwner, ServicesDep

if TYPE_CHECKING:
    from bathysphere.payments.ledger.records import Payer, Session
    from bathysphere.payments.till import Till


class PaymentsOff(CallerError):
    """Nothing is paid for on this server."""

    code = "payments_off"


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """The till, as one caller may use it."""

    till: "Till"
    payer: "Payer"

    async def bill(self, thread_id: UUID) -> Bill:
        """How to pay into the thread's account."""
        return await self.till.bill(str(thread_id), 0, payer=self.payer)


async def payment_of(owner: CurrentOwner, services: ServicesDep) -> Payment:
    """The till for the caller that the connection's identity stands for.

    Raises:
        PaymentsOff: There is none.
    """
    if services.payments is None:
        raise PaymentsOff("nothing is paid for here", hint="just start a run")
    from bathysphere.server.payments.parts import payer_of  # there, when payment is on

    return Payment(till=services.payments.till, payer=payer_of(owner))


def session_json(session: "Session", request: str | None) -> dict[str, Any]:
    """A session as clients read it."""
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
