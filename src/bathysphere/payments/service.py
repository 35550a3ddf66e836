"""The payment service: sessions, deposits and refunds for users, purses for runs."""

from collections.abc import Callable
from dataclasses import dataclass

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.core.ids import new_id
from bathysphere.core.payments import Bill, Owed, Paid
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.ledger.accounts import Accounts, Posted
from bathysphere.payments.ledger.errors import NoPaymentSession
from bathysphere.payments.ledger.records import Deposited, NewSession, Refund, Session
from bathysphere.payments.ledger.refunds import Refunds
from bathysphere.payments.nuts import curve
from bathysphere.payments.pricing import Price
from bathysphere.payments.session_keys import SessionKeys

_FEE_MARGIN = 2  # requested on top of the amount needed, to cover the mint's fee


class BadRefundKey(CallerError):
    """The refund key is not a public key."""

    code = "bad_refund_key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The operator's price, and the mint and unit to pay in."""

    mint_url: str
    unit: str
    price: Price
    topup: int = 100
    """The minimum amount of a payment request."""


class PaymentService:
    """Opens sessions, accepts deposits, delivers refunds, and creates purses for runs."""

    def __init__(
        self,
        *,
        terms: Terms,
        accounts: Accounts,
        refunds: Refunds,
        deposits: Deposits,
        keys: SessionKeys,
    ) -> None:
        self.terms = terms
        self._accounts = accounts
        self._refunds = refunds
        self._deposits = deposits
        self._keys = keys

    async def open(self, thread_id: str, *, payer: Owner, refund_key: str) -> Session:
        """Open a session for the thread, or return the one that is open.

        Raises:
            BadRefundKey: The key is not a compressed public key in hex.
            PaymentSessionTaken: The open session has a different key or payer.
        """
        key = _public_key(refund_key)
        session_id = new_id("ps")
        new = NewSession(
            session_id=session_id,
            thread_id=thread_id,
            payer=payer,
            mint_url=self.terms.mint_url,
            unit=self.terms.unit,
            session_pubkey=self._keys.public_key(session_id),
            refund_pubkey=key,
        )
        return await self._accounts.open(new)

    async def session(self, thread_id: str, *, payer: Owner) -> Session:
        """The thread's newest session.

        Raises:
            NoPaymentSession: The payer has no session on this thread.
        """
        session = await self._accounts.current(thread_id, payer=payer)
        if session is None:
            raise NoPaymentSession(
                f"Thread {thread_id} has no payment session", hint="open one with your refund key"
            )
        return session

    async def deposit(self, thread_id: str, token: str, *, payer: Owner) -> Deposited:
        """Check a token offline and credit it once.

        Raises:
            TokenRefused: The token was not accepted; it still belongs to the user.
            TokenAlreadyUsed: It was already deposited in another session.
            NoPaymentSession: The payer has no open session on this thread.
        """
        session = await self.session(thread_id, payer=payer)
        checked = await self._deposits.check(token, session)
        return await self._accounts.deposit(thread_id, checked, payer=payer)

    async def close(self, thread_id: str, *, payer: Owner) -> Session:
        """Begin to close the session; the unspent balance is refunded."""
        return await self._accounts.begin_close(thread_id, payer=payer)

    async def refunds(self, thread_id: str, *, payer: Owner) -> list[Refund]:
        """Return the refunds, as tokens locked to the payer's key."""
        return await self._refunds.deliver(thread_id, payer=payer)

    async def bill(self, thread_id: str, needed: int, *, payer: Owner) -> Bill:
        """Return payment instructions. After a close, opens a new session with the same key."""
        session = await self._accounts.current(thread_id, payer=payer)
        balance = session.balance if session is not None and session.status == "open" else 0
        suggested = max(self.terms.topup, needed - balance + _FEE_MARGIN)
        request = None
        if session is not None:
            if session.status != "open":
                session = await self.open(thread_id, payer=payer, refund_key=session.refund_pubkey)
            request = self._deposits.request(session, amount=suggested, request_id=new_id("pay"))
        return Bill(
            suggested=suggested, mint=self.terms.mint_url, unit=self.terms.unit, request=request
        )

    def purse(self, thread_id: str, *, payer: Owner, run_id: str = "") -> "ThreadPurse":
        """Create the purse of a thread for one of its runs."""
        return ThreadPurse(self, self._accounts, thread_id, payer, run_id)


class ThreadPurse:
    """The balance of one thread and payer: a `core.payments.Purse` backed by the ledger."""

    def __init__(
        self,
        service: PaymentService,
        accounts: Accounts,
        thread_id: str,
        payer: Owner,
        run_id: str,
    ) -> None:
        self._service = service
        self._run_id = run_id
        self._accounts = accounts
        self._thread_id = thread_id
        self._payer = payer

    def __repr__(self) -> str:
        return f"ThreadPurse({self._thread_id})"

    @property
    def max_output(self) -> int | None:
        """The maximum number of output tokens that a charge covers."""
        return self._service.terms.price.max_output

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """Return the maximum cost of a call."""
        return self._service.terms.price.quote(tokens_in)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """Return the actual cost of a call."""
        return self._service.terms.price.cost(tokens_in, tokens_out)

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once per key."""
        posted = await self._accounts.charge(
            self._thread_id, key, amount, payer=self._payer, holder=self._run_id
        )
        return _answer(posted)

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """Store the model's answer and reduce the charge to at most `amount`."""
        return _answer(await self._accounts.complete(self._thread_id, key, amount, answer))

    async def void(self, key: str) -> None:
        """Refund the charge of a failed call."""
        await self._accounts.void(self._thread_id, key)

    async def keep(self, key: str) -> None:
        """Keep the charge of a call that was cancelled while the model was answering."""
        await self._accounts.keep(self._thread_id, key)

    async def mark_streamed(self, key: str) -> None:
        """Record that the call was cut off after part of its answer was streamed."""
        await self._accounts.mark_streamed(self._thread_id, key)

    async def deposit(self, token: str) -> int:
        """Deposit a token and return the amount credited."""
        deposited = await self._service.deposit(self._thread_id, token, payer=self._payer)
        return deposited.credited

    async def bill(self, needed: int) -> Bill:
        """Return payment instructions to bring the balance to `needed`."""
        session = await self._accounts.current(self._thread_id, payer=self._payer)
        if session is not None and self._accounts.is_expired(session):
            await self._accounts.begin_close(self._thread_id, payer=self._payer)
        return await self._service.bill(self._thread_id, needed, payer=self._payer)


def _answer(posted: Posted) -> Paid | Owed:
    outcome = posted.outcome
    if outcome == "charged" or outcome == "completed" or outcome == "done":  # types
        return Paid(balance=posted.balance, spent=posted.spent, answer=posted.memo)
    return Owed(balance=posted.balance, reason=outcome)


def _public_key(text: str) -> str:
    try:
        key = bytes.fromhex(text)
        if len(key) != 33:  # a compressed point
            raise ValueError
        curve.point(key)
    except ValueError as error:
        raise BadRefundKey(
            "The refund key is not a compressed public key", hint="pass 33 bytes in hex, 02… or 03…"
        ) from error
    return key.hex()
