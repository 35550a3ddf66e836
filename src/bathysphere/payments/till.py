"""The till: where people pay and runs are charged. Deposits, prices and the ledger meet here."""

from collections.abc import Callable
from dataclasses import dataclass

from bathysphere.core.errors import CallerError
from bathysphere.core.ids import new_id
from bathysphere.core.payments import Bill, Owed, Paid
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.ledger.accounts import Accounts, Posted
from bathysphere.payments.ledger.errors import NoPaymentSession
from bathysphere.payments.ledger.records import Deposited, NewSession, Payer, Refund, Session
from bathysphere.payments.ledger.refunds import Refunds
from bathysphere.payments.nuts import curve
from bathysphere.payments.pricing import Price
from bathysphere.payments.session_keys import SessionKeys

_FEE_ROOM = 2  # what a request asks for beyond the need, so that the mint's fee does not eat it


class BadRefundKey(CallerError):
    """The refund key is not a public key."""

    code = "bad_refund_key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What the operator asks for, and where it is paid."""

    mint_url: str
    unit: str
    price: Price
    topup: int = 100
    """What a payment request asks for, unless more is needed."""


class Till:
    """Opens sessions, takes deposits, gives refunds, and hands purses to runs."""

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

    async def open(self, thread_id: str, *, payer: Payer, refund_key: str) -> Session:
        """Open a session for the thread, or give the one that is open.

        Raises:
            BadRefundKey: The key is not a compressed public key in hex.
            PaymentSessionTaken: The open session has another key or another payer.
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

    async def session(self, thread_id: str, *, payer: Payer) -> Session:
        """The thread's newest session.

        Raises:
            NoPaymentSession: There is none of this payer.
        """
        session = await self._accounts.current(thread_id, payer=payer)
        if session is None:
            raise NoPaymentSession(
                f"thread {thread_id} has no payment session", hint="open one with your refund key"
            )
        return session

    async def deposit(self, thread_id: str, token: str, *, payer: Payer) -> Deposited:
        """Check a token, offline, and credit it once.

        Raises:
            TokenRefused: The token cannot be taken; it is still the person's.
            TokenAlreadyUsed: It was deposited before, elsewhere.
            NoPaymentSession: The thread has no open session of this payer.
        """
        session = await self.session(thread_id, payer=payer)
        checked = await self._deposits.check(token, session)
        return await self._accounts.deposit(thread_id, checked, payer=payer)

    async def close(self, thread_id: str, *, payer: Payer) -> Session:
        """Begin to close the session; what was not spent goes back."""
        return await self._accounts.begin_close(thread_id, payer=payer)

    async def refunds(self, thread_id: str, *, payer: Payer) -> list[Refund]:
        """What went back, as tokens locked to the person's key."""
        return await self._refunds.deliver(thread_id, payer=payer)

    async def bill(self, thread_id: str, needed: int, *, payer: Payer) -> Bill:
        """How to pay. New money after a close goes to a new session with the same key."""
        session = await self._accounts.current(thread_id, payer=payer)
        balance = session.balance if session is not None and session.status == "open" else 0
        suggested = max(self.terms.topup, needed - balance + _FEE_ROOM)
        request = None
        if session is not None:
            if session.status != "open":
                session = await self.open(thread_id, payer=payer, refund_key=session.refund_pubkey)
            request = self._deposits.request(session, amount=suggested, request_id=new_id("pay"))
        return Bill(
            suggested=suggested, mint=self.terms.mint_url, unit=self.terms.unit, request=request
        )

    def purse(self, thread_id: str, *, payer: Payer, run_id: str = "") -> "ThreadPurse":
        """The purse of a thread, for one of its runs."""
        return ThreadPurse(self, self._accounts, thread_id, payer, run_id)


class ThreadPurse:
    """The money of one thread and one payer: a `core.payments.Purse` on the ledger."""

    def __init__(
        self, till: Till, accounts: Accounts, thread_id: str, payer: Payer, run_id: str
    ) -> None:
        self._till = till
        self._run_id = run_id
        self._accounts = accounts
        self._thread_id = thread_id
        self._payer = payer

    def __repr__(self) -> str:
        return f"ThreadPurse({self._thread_id})"

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """The most that a call can cost."""
        return self._till.terms.price.quote(tokens_in)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """What a call did cost."""
        return self._till.terms.price.cost(tokens_in, tokens_out)

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once for its key."""
        posted = await self._accounts.charge(
            self._thread_id, key, amount, payer=self._payer, holder=self._run_id
        )
        return _answer(posted)

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """The model answered: keep the answer, and of the charge at most `amount`."""
        return _answer(await self._accounts.complete(self._thread_id, key, amount, answer))

    async def void(self, key: str) -> None:
        """The call failed: give the charge back."""
        await self._accounts.void(self._thread_id, key)

    async def keep(self, key: str) -> None:
        """The call was cancelled while the model answered: the charge stands."""
        await self._accounts.keep(self._thread_id, key)

    async def deposit(self, token: str) -> int:
        """Take a token in; what it added."""
        done = await self._till.deposit(self._thread_id, token, payer=self._payer)
        return done.credited

    async def bill(self, needed: int) -> Bill:
        """How to pay so that `needed` is there."""
        session = await self._accounts.current(self._thread_id, payer=self._payer)
        if session is not None and self._accounts.is_expired(session):
            await self._accounts.begin_close(self._thread_id, payer=self._payer)
        return await self._till.bill(self._thread_id, needed, payer=self._payer)


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
            "the refund key is not a compressed public key", hint="33 bytes in hex, 02… or 03…"
        ) from error
    return key.hex()
