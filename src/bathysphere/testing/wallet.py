"""A person who pays: e-cash from a test mint, locked to order, and refunds taken back.

Not a wallet to keep money in: everything is in memory, and a lost answer loses it.
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
        """What the mint is asked to sign."""
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
    """A key of one's own, and e-cash of one mint."""

    mint_url: str
    unit: str = "sat"
    secret_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    proofs: list[Proof] = field(default_factory=list)
    _known: Keysets | None = field(default=None, init=False, repr=False)

    @property
    def key(self) -> str:
        """The public key, in hex: where refunds go."""
        return curve.public_key(self.secret_key).hex()

    @property
    def balance(self) -> int:
        """What it holds."""
        return sum(proof.amount for proof in self.proofs)

    async def fund(self, amount: int) -> None:
        """Get e-cash from the mint's pretended Lightning payment."""
        keyset = await self._active()
        self.proofs += await self.issue([self.plain(part) for part in keyset.split(amount)])

    async def pay(self, request: str, *, amount: int | None = None) -> str:
        """A token that answers a payment request, from fresh e-cash."""
        wanted = decode_request(request)
        if wanted.lock is None:
            message = "the request wants no lock"
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
        """Swap a token that is plain or locked to our key for e-cash of our own; its worth."""
        keysets = await self._keysets()
        proofs = [_whole(proof, keysets) for proof in decode_v4(token).proofs]
        signed = [p.with_witness(locks.sign(p.secret, self.secret_key)) for p in proofs]
        received = await self.swap(signed)
        self.proofs += received
        return sum(proof.amount for proof in received)

    async def swap(self, inputs: Sequence[Proof]) -> list[Proof]:
        """Swap proofs, with whatever witness they have, for plain ones of our own."""
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
        """Proofs as a token."""
        mint = mint_url or self.mint_url
        return encode_v4(Token(mint=mint, unit=self.unit, proofs=tuple(proofs)))

    # ── outputs to order ──

    def plain(self, amount: int) -> Blank:
        """E-cash that anyone can spend who has it."""
        secret = secrets.token_hex(32)
        return Blank(amount=amount, secret=secret, factor=secrets.token_bytes(32))

    def locked(
        self, amount: int, key: str, *, locktime: int | None = None, refund: Sequence[str] = ()
    ) -> Blank:
        """E-cash locked to a key."""
        nonce = secrets.token_hex(32)
        lock = locks.Lock(key=key, nonce=nonce, locktime=locktime, refund=tuple(refund))
        return Blank(amount=amount, secret=lock.secret(), factor=secrets.token_bytes(32))

    async def issue(self, blanks: Sequence[Blank]) -> list[Proof]:
        """Have the mint sign outputs, whatever their secrets are, for a pretended payment."""
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
            message = f"the mint has no active keyset for {self.unit}"
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
        """Ask the mint for its keysets again: it may have rotated them."""
        self._known = None


def _whole(proof: Proof, keysets: Keysets) -> Proof:
    """A token's short keyset id, made whole again."""
    keyset = keysets.get(proof.keyset_id)
    if keyset is None:
        message = "the token's keyset is not this mint's"
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
        message = f"the mint refused {path}: {response.text[:200]}"
        raise UpstreamError(message)
    answer: dict[str, Any] = response.json()
    return answer
