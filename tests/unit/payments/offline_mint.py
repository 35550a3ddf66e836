"""A mint's keys in a test's hand: it signs what it is asked to, without HTTP.

For the validator, which never speaks to a mint. Where a mint's own behaviour matters, the tests in
tests/integration/payments use a real one.
"""

import secrets
from collections.abc import Sequence

from bathysphere.payments.nuts import curve, locks
from bathysphere.payments.nuts.keysets import Keyset, Keysets, keyset_id_v1, keyset_id_v2
from bathysphere.payments.nuts.proofs import Dleq, Proof
from bathysphere.payments.nuts.tokens import Token, encode_v4
from bathysphere.payments.validator import DepositRules

URL = "https://mint.test"
NOW = 1_800_000_000
HOUR = 3600
SESSION = curve.public_key(b"\x11" * 32).hex()
PERSON = curve.public_key(b"\x22" * 32).hex()
ATTACKER = curve.public_key(b"\x33" * 32).hex()
LOCKTIME = NOW + 48 * HOUR


class OfflineMint:
    """Keys by amount, and one keyset of them."""

    def __init__(
        self,
        name: str = "honest",
        *,
        unit: str = "sat",
        fee_ppk: int = 100,
        final_expiry: int | None = None,
        version: int = 2,
    ) -> None:
        self._secret = {
            amount: curve.dleq_hash(curve.hash_to_curve(f"{name}|{unit}|{amount}".encode()))
            for amount in (2**power for power in range(64))
        }
        keys = {amount: curve.public_key(key) for amount, key in self._secret.items()}
        v2 = keyset_id_v2(keys, unit, input_fee_ppk=fee_ppk, final_expiry=final_expiry)
        self.keyset = Keyset(
            id=v2 if version == 2 else keyset_id_v1(keys),
            unit=unit,
            active=True,
            input_fee_ppk=fee_ppk,
            keys=keys,
            final_expiry=final_expiry,
        )

    def sign(self, secret: str, amount: int) -> Proof:
        """A real proof on any secret."""
        factor, nonce = secrets.token_bytes(32), secrets.token_bytes(32)
        key = self._secret[amount]
        blinded = curve.blind(secret.encode(), factor)
        signature = curve.sign_blinded(blinded, key)
        mint_point = self.keyset.keys[amount]
        r1, r2 = curve.public_key(nonce), curve.sign_blinded(blinded, nonce)
        e = curve.dleq_hash(r1, r2, mint_point, signature)
        s = (_number(nonce) + _number(e) * _number(key)) % curve.ORDER
        return Proof(
            amount=amount,
            keyset_id=self.keyset.id,
            secret=secret,
            c=curve.unblind(signature, factor, mint_point),
            dleq=Dleq(e=e, s=s.to_bytes(32, "big"), r=factor),
        )

    def locked(self, amount: int = 64, **changes) -> Proof:
        """A proof locked as it should be, but for the changes."""
        lock = {"key": SESSION, "locktime": LOCKTIME, "refund": (PERSON,), **changes}
        return self.sign(locks.Lock(nonce=secrets.token_hex(32), **lock).secret(), amount)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


HONEST = OfflineMint()
DOLLARS = OfflineMint(unit="usd")
EVIL = OfflineMint("evil")
KEYSETS = Keysets([HONEST.keyset, DOLLARS.keyset])


def rules(**changes) -> DepositRules:
    fields = {"mint_url": URL, "unit": "sat", "session_key": SESSION, "refund_key": PERSON}
    return DepositRules(**{**fields, "now": NOW, **changes})


def token(proofs: Sequence[Proof], *, mint: str = URL, unit: str = "sat", **options) -> str:
    return encode_v4(Token(mint=mint, unit=unit, proofs=tuple(proofs)), **options)
