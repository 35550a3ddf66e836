"""Deposits: payment requests, and the check of the tokens sent in response."""

from datetime import UTC, datetime, timedelta

from bathysphere.core.clock import Clock
from bathysphere.payments.errors import TokenRefused
from bathysphere.payments.ledger.records import Checked, Proof, Session
from bathysphere.payments.mint import KeysetBook
from bathysphere.payments.nuts.requests import LockWanted, PaymentRequest
from bathysphere.payments.validator import DepositRules, ValidDeposit, validate

ASKED_LOCK = timedelta(hours=48)


class Deposits:
    """Creates payment requests and checks deposits; stores nothing."""

    def __init__(
        self,
        book: KeysetBook,
        clock: Clock,
        *,
        asked_lock: timedelta = ASKED_LOCK,
        min_lock: timedelta = timedelta(hours=2),
        max_lock: timedelta = timedelta(days=30),
    ) -> None:
        self._book = book
        self._clock = clock
        self._asked_lock = asked_lock
        self._min_lock = min_lock
        self._max_lock = max_lock

    def request(self, session: Session, *, amount: int, request_id: str) -> str:
        """Create a payment request (NUT-18) that contains the whole lock, so any wallet can pay."""
        locktime = int((self._clock.now() + self._asked_lock).timestamp())
        tags = (
            ("sigflag", "SIG_INPUTS"),
            ("locktime", str(locktime)),
            ("refund", session.refund_pubkey),
        )
        return PaymentRequest(
            id=request_id,
            amount=amount,
            unit=session.unit,
            single_use=True,
            mints=(session.mint_url,),
            lock=LockWanted(key=session.session_pubkey, tags=tags),
        ).encode()

    async def check(self, token: str, session: Session) -> Checked:
        """Check a token for a session; contacts the mint only for unknown keysets.

        Raises:
            TokenRefused: The token was not accepted; see `reason`.
        """
        rules = DepositRules(
            mint_url=session.mint_url,
            unit=session.unit,
            session_key=session.session_pubkey,
            refund_key=session.refund_pubkey,
            now=int(self._clock.now().timestamp()),
            min_lock=int(self._min_lock.total_seconds()),
            max_lock=int(self._max_lock.total_seconds()),
        )
        try:
            valid = validate(token, rules, await self._book.get())
        except TokenRefused as refused:
            if refused.reason != "keyset_unknown":
                raise
            valid = validate(token, rules, await self._book.reload())
        return _checked(valid)


def _checked(valid: ValidDeposit) -> Checked:
    proofs = (
        Proof(y.hex(), proof.amount, proof.to_bytes())
        for y, proof in zip(valid.ys, valid.proofs, strict=True)
    )
    return Checked(
        face=valid.face,
        fee=valid.fee,
        locktime=datetime.fromtimestamp(valid.locktime, tz=UTC),
        proofs=tuple(proofs),
    )
