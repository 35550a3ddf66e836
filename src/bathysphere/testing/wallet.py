"""A test wallet: gets e-cash from a test mint, locks it, and redeems refunds.

Not for real money: everything is in memory, and a lost response loses funds.
"""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from bathysphere.core.errors import UpstreamError
from bathysphere.payments.mint import MintClient
from bathysphere.payments.nuts import curve, locks
from bathysphere.payments.nuts.keysets import Keyset, Keysets, input_fee
from bathysphere.payments.nuts.proofs import BlindedMessage, BlindSignature, Dleq, Proof
from bathysphere.payments.nuts.requests import decode_request
from bathysphere.payments.nuts.tokens import Token, decode_v4, encode_v4

_POLLS = 100
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Blank:
    """An output before it is signed."""

    amount: int
    secret: str
    factor: bytes

    def message(self, keyset: Keyset) -> BlindedMessage:
        """The blinded message for the mint to sign."""
        b = curve.blind(self.secret.encode(), self.factor)
        return BlindedMessage(amount=self.amount, keyset_id=keyset.id, b=b)

    def proof(self, signature: BlindSignature, keyset: Keyset) -> Proof:
        """The signed output."""
        dleq = signature.dleq
        return Proof(
            amount=self.amount,
            keyset_id=keyset.id,
            secret=self.secret,
            c=curve.unblind(signature.c, self.factor, keyset.keys[self.amount]),
            dleq=dleq and Dleq(e=dleq.e, s=dleq.s, r=self.factor),
        )


@dataclass(kw_only=True)
class Wallet:
    """A key and e-cash of one mint."""

    mint_url: str
    unit: str = "sat"
    secret_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    proofs: list[Proof] = field(default_factory=list)
    _known: Keysets | None = field(default=None, init=False, repr=False)

    @property
    def key(self) -> str:
        """The public key for refunds, in hex."""
        return curve.public_key(self.secret_key).hex()

    @property
    def balance(self) -> int:
        """The balance."""
        return sum(proof.amount for proof in self.proofs)

    async def fund(self, amount: int) -> None:
        """Get e-cash from the mint with a simulated Lightning payment."""
        keyset = await self._active()
        self.proofs += await self.issue([self.plain(part) for part in keyset.split(amount)])

    async def pay(self, request: str, *, amount: int | None = None) -> str:
        """Create a token for a payment request, from new e-cash."""
        wanted = decode_request(request)
        if wanted.lock is None:
            message = "The payment request has no lock"
            raise UpstreamError(message)
        [locktime], refund = wanted.lock.tag("locktime") or (), wanted.lock.tag("refund") or ()
        keyset = await self._active()
        parts = keyset.split(amount or wanted.amount or 0)
        blanks = [
            self.locked(part, wanted.lock.key, locktime=int(locktime), refund=refund)
            for part in parts
        ]
        return self.token(await self.issue(blanks), mint_url=wanted.mints[0])

    async def receive(self, token: str) -> int:
        """Redeem a token that is unlocked or locked to our key; returns its amount."""
        keysets = await self._keysets()
        proofs = [_whole(proof, keysets) for proof in decode_v4(token).proofs]
        signed = [p.with_witness(locks.sign(p.secret, self.secret_key)) for p in proofs]
        received = await self.swap(signed)
        self.proofs += received
        return sum(proof.amount for proof in received)

    async def swap(self, inputs: Sequence[Proof]) -> list[Proof]:
        """Swap proofs, with their witnesses, for unlocked ones."""
        keysets = await self._keysets()
        fee = input_fee(keyset for p in inputs if (keyset := keysets.get(p.keyset_id)))
        keyset = await self._active()
        amount = sum(proof.amount for proof in inputs) - fee
        blanks = [self.plain(part) for part in keyset.split(amount)]
        body = {
            "inputs": [proof.wire() for proof in inputs],
            "outputs": [blank.message(keyset).wire() for blank in blanks],
        }
        client = MintClient(self.mint_url)
        try:
            signatures = await client.swap(json.dumps(body))
        finally:
            await client.close()
        return [b.proof(s, keyset) for b, s in zip(blanks, signatures, strict=True)]

    def token(self, proofs: Sequence[Proof], *, mint_url: str | None = None) -> str:
        """Encode proofs as a token."""
        mint = mint_url or self.mint_url
        return encode_v4(Token(mint=mint, unit=self.unit, proofs=tuple(proofs)))

    # ── outputs to order ──

    def plain(self, amount: int) -> Blank:
        """Create unlocked e-cash."""
        secret = secrets.token_hex(32)
        return Blank(amount=amount, secret=secret, factor=secrets.token_bytes(32))

    def locked(
        self, amount: int, key: str, *, locktime: int | None = None, refund: Sequence[str] = ()
    ) -> Blank:
        """Create e-cash locked to a key."""
        nonce = secrets.token_hex(32)
        lock = locks.Lock(key=key, nonce=nonce, locktime=locktime, refund=tuple(refund))
        return Blank(amount=amount, secret=lock.secret(), factor=secrets.token_bytes(32))

    async def issue(self, blanks: Sequence[Blank]) -> list[Proof]:
        """Have the mint sign outputs with any secrets, for a simulated payment."""
        keyset = await self._active()
        amount = sum(blank.amount for blank in blanks)
        outputs = [blank.message(keyset).wire() for blank in blanks]
        async with httpx.AsyncClient(
            base_url=self.mint_url,
            trust_env=False,
            timeout=20,
            verify=self.mint_url.startswith("https:"),
        ) as http:
            asked = {"amount": amount, "unit": self.unit}
            quote = (await _posted(http, "/v1/mint/quote/bolt11", asked))["quote"]
            for _ in range(_POLLS):
                state = (await http.get(f"/v1/mint/quote/bolt11/{quote}")).json()["state"]
                if state == "PAID":
                    break
                await asyncio.sleep(_POLL_SECONDS)
            answer = await _posted(http, "/v1/mint/bolt11", {"quote": quote, "outputs": outputs})
        signatures = [BlindSignature.from_wire(each) for each in answer["signatures"]]
        return [b.proof(s, keyset) for b, s in zip(blanks, signatures, strict=True)]

    async def _active(self) -> Keyset:
        keyset = (await self._keysets()).active(self.unit)
        if keyset is None:
            message = f"The mint has no active keyset for {self.unit}"
            raise UpstreamError(message)
        return keyset

    async def _keysets(self) -> Keysets:
        if self._known is None:
            client = MintClient(self.mint_url)
            try:
                self._known = await client.keysets()
            finally:
                await client.close()
        return self._known

    def forget_keys(self) -> None:
        """Reload the mint's keysets, which may have been rotated."""
        self._known = None


def _whole(proof: Proof, keysets: Keysets) -> Proof:
    """Expand a token's short keyset id."""
    keyset = keysets.get(proof.keyset_id)
    if keyset is None:
        message = "The token's keyset is not from this mint"
        raise UpstreamError(message)
    return Proof(
        amount=proof.amount,
        keyset_id=keyset.id,
        secret=proof.secret,
        c=proof.c,
        dleq=proof.dleq,
        witness=proof.witness,
    )


async def _posted(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await http.post(path, json=body)
    if response.is_error:
        message = f"The mint rejected {path}: {response.text[:200]}"
        raise UpstreamError(message)
    answer: dict[str, Any] = response.json()
    return answer
