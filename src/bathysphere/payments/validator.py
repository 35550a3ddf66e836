"""Validation of deposit tokens. Pure and offline: no network, no database, no clock.

Why offline is enough: the mint's signature (DLEQ) proves that the e-cash is genuine, and the lock
(P2PK to this session's key until the locktime) proves that nobody else can spend it until then. So
a token that passes is good money, and the mint need not be contacted. The mint URL in a token is
only compared, never connected to.
"""

from dataclasses import dataclass, replace

from bathysphere.payments.errors import TokenRefused
from bathysphere.payments.nuts import curve, locks, tokens
from bathysphere.payments.nuts.keysets import Keyset, Keysets, input_fee
from bathysphere.payments.nuts.proofs import MAX_AMOUNT, Proof

MAX_TOKEN = 60_000
MAX_PROOFS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DepositRules:
    """Requirements for a deposit of one session. Times are Unix timestamps in seconds."""

    mint_url: str
    unit: str
    session_key: str
    """The public key of the session, in hex: deposits are locked to it."""
    refund_key: str
    """The payer's public key, in hex."""
    now: int
    min_lock: int = 2 * 3600
    max_lock: int = 30 * 24 * 3600


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidDeposit:
    """A valid token. Keyset ids are full; `ys` are in the order of the proofs."""

    proofs: tuple[Proof, ...]
    ys: tuple[bytes, ...]
    face: int
    fee: int
    locktime: int
    """When the payer can reclaim the first of the proofs."""

    @property
    def credited(self) -> int:
        """The amount credited to the session: the face value minus the settlement fee."""
        return self.face - self.fee


def validate(token: str, rules: DepositRules, keysets: Keysets) -> ValidDeposit:
    """Check a token against the rules, or raise `TokenRefused`."""
    parsed = _parse(token)
    if parsed.mint != rules.mint_url:
        raise TokenRefused("mint_mismatch")
    if parsed.unit != rules.unit:
        raise TokenRefused("unit_mismatch")
    used = [_keyset(proof, rules, keysets) for proof in parsed.proofs]
    proofs = tuple(
        replace(proof, keyset_id=keyset.id)
        for proof, keyset in zip(parsed.proofs, used, strict=True)
    )
    for proof, keyset in zip(proofs, used, strict=True):
        _check_signature(proof, keyset)
    locktime = min(_check_lock(proof, rules) for proof in proofs)
    if any(proof.witness is not None for proof in proofs):
        raise TokenRefused("witness_present")
    face, fee = parsed.amount, input_fee(used)
    if face > MAX_AMOUNT:
        raise TokenRefused("amount_too_large")
    if face <= fee:
        raise TokenRefused("amount_too_small", f"{face}, with a fee of {fee}")
    ys = tuple(proof.y for proof in proofs)
    return ValidDeposit(proofs=proofs, ys=ys, face=face, fee=fee, locktime=locktime)


def _parse(token: str) -> tokens.Token:
    if len(token) > MAX_TOKEN:
        raise TokenRefused("token_too_large", f"at most {MAX_TOKEN} characters")
    if not token.startswith(tokens.V4):
        raise TokenRefused("token_version", "only version 4 tokens (cashuB…) are accepted")
    try:
        parsed = tokens.decode_v4(token)
    except tokens.BadToken as error:
        raise TokenRefused("token_malformed", str(error)) from error
    if not 1 <= len(parsed.proofs) <= MAX_PROOFS:
        raise TokenRefused("too_many_proofs", f"expected 1 to {MAX_PROOFS}")
    if len({proof.secret for proof in parsed.proofs}) != len(parsed.proofs):
        raise TokenRefused("secret_repeated")
    return parsed


def _keyset(proof: Proof, rules: DepositRules, keysets: Keysets) -> Keyset:
    keyset = keysets.get(proof.keyset_id)
    if keyset is None:
        raise TokenRefused("keyset_unknown")
    if keyset.unit != rules.unit:
        raise TokenRefused("keyset_unit")
    if keyset.final_expiry is not None and keyset.final_expiry < rules.now + rules.max_lock:
        raise TokenRefused("keyset_expiring")
    if proof.amount not in keyset.keys:
        raise TokenRefused("amount_not_a_denomination")
    return keyset


def _check_signature(proof: Proof, keyset: Keyset) -> None:
    try:
        curve.point(proof.c)
    except ValueError as error:
        raise TokenRefused("point_invalid") from error
    if proof.dleq is None or proof.dleq.r is None:
        raise TokenRefused("dleq_missing")
    if not curve.dleq_holds_unblinded(
        mint_point=keyset.keys[proof.amount],
        message=proof.secret.encode(),
        signature=proof.c,
        e=proof.dleq.e,
        s=proof.dleq.s,
        r=proof.dleq.r,
    ):
        raise TokenRefused("dleq_invalid")


def _check_lock(proof: Proof, rules: DepositRules) -> int:
    try:
        lock = locks.parse_lock(proof.secret)
    except locks.NoLock as error:
        raise TokenRefused("lock_missing") from error
    except locks.BadLock as error:
        raise TokenRefused("lock_malformed", str(error)) from error
    if lock.key != rules.session_key:
        raise TokenRefused("lock_wrong_key")
    if lock.locktime is None:
        raise TokenRefused("lock_time_missing")
    if lock.locktime < rules.now + rules.min_lock:
        raise TokenRefused("lock_time_too_soon")
    if lock.locktime > rules.now + rules.max_lock:
        raise TokenRefused("lock_time_too_late")
    if lock.refund != (rules.refund_key,):
        raise TokenRefused("lock_wrong_refund")
    return lock.locktime
