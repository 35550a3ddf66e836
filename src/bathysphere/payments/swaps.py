"""Swaps: prepare the exchange of a deposit, and turn the mint's response into proofs.

One swap settles one deposit: its outputs are the earnings and the refund together. The outputs are
derived from the swap's seed (NUT-13), so a swap is always the same bytes and can be restored. They
are sorted by amount, so that their order does not reveal which of them are the refund.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from bathysphere.payments.ledger.records import Prepared, RefundToken, ToSettle
from bathysphere.payments.ledger.records import Proof as StoredProof
from bathysphere.payments.nuts import curve, locks
from bathysphere.payments.nuts.derivation import derive
from bathysphere.payments.nuts.keysets import Keyset
from bathysphere.payments.nuts.proofs import BlindedMessage, BlindSignature, Dleq, Proof
from bathysphere.payments.nuts.tokens import Token, encode_v4
from bathysphere.payments.session_keys import SessionKeys

Kind: TypeAlias = Literal["earn", "refund"]


class BadAnswer(ValueError):
    """The mint's signatures do not match the requested outputs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """One output of a swap, derived from the swap's seed with counter `index`."""

    kind: Kind
    amount: int
    index: int
    b: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The outputs of a swap, in the order in which they are posted. Contains no secrets."""

    keyset_id: str
    outputs: tuple[Output, ...]

    def messages(self) -> list[BlindedMessage]:
        """The blinded messages for the mint to sign or restore."""
        return [
            BlindedMessage(amount=output.amount, keyset_id=self.keyset_id, b=output.b)
            for output in self.outputs
        ]

    def to_bytes(self) -> bytes:
        """Serialize the plan for the ledger."""
        outputs = [[o.kind, o.amount, o.index, o.b.hex()] for o in self.outputs]
        fields = {"keyset": self.keyset_id, "outputs": outputs}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse the output of `to_bytes`."""
        fields = json.loads(data)
        outputs = (
            Output(kind=kind, amount=amount, index=index, b=bytes.fromhex(b))
            for kind, amount, index, b in fields["outputs"]
        )
        return cls(keyset_id=fields["keyset"], outputs=tuple(outputs))


def prepare_swap(deposit: ToSettle, keyset: Keyset, keys: SessionKeys) -> Prepared:
    """Build the request body and the plan to read its response. Pure: the ledger stores both."""
    proofs = [Proof.from_bytes(stored.data) for stored in deposit.proofs]
    face = sum(proof.amount for proof in proofs)
    if face != deposit.earn + deposit.refund + deposit.fee:
        message = f"Unbalanced swap {deposit.swap_id}: {face} is not earn + refund + fee"
        raise ValueError(message)
    seed = keys.swap_seed(deposit.swap_id)
    parts: list[tuple[Kind, int]] = [("earn", amount) for amount in keyset.split(deposit.earn)]
    parts += [("refund", amount) for amount in keyset.split(deposit.refund)]
    outputs = [
        _output(kind, amount, index, seed, keyset.id, deposit.refund_pubkey)
        for index, (kind, amount) in enumerate(parts)
    ]
    ordered = sorted(outputs, key=lambda output: (output.amount, output.b))
    plan = Plan(keyset_id=keyset.id, outputs=tuple(ordered))
    secret_key = keys.secret_key(deposit.session_id)
    body = {
        "inputs": [p.with_witness(locks.sign(p.secret, secret_key)).wire() for p in proofs],
        "outputs": [message.wire() for message in plan.messages()],
    }
    return Prepared(json.dumps(body, separators=(",", ":")).encode(), plan.to_bytes())


def _output(
    kind: Kind, amount: int, index: int, seed: bytes, keyset_id: str, refund_key: str
) -> Output:
    secret, factor = _secret(kind, index, seed, keyset_id, refund_key)
    return Output(kind=kind, amount=amount, index=index, b=curve.blind(secret.encode(), factor))


def _secret(
    kind: Kind, index: int, seed: bytes, keyset_id: str, refund_key: str
) -> tuple[str, bytes]:
    derived = derive(seed, keyset_id, index)
    if kind == "earn":
        return derived.secret, derived.factor
    # A refund is locked to the payer's key: in a log or a trace it is worthless.
    return locks.Lock(key=refund_key, nonce=derived.secret).secret(), derived.factor


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """The inputs of a swap, read from its body."""

    ys: tuple[bytes, ...]
    keyset_ids: frozenset[str]

    @classmethod
    def of(cls, body: bytes) -> Self:
        """Read the inputs of a body built by `prepare_swap`."""
        inputs = json.loads(body)["inputs"]
        return cls(
            ys=tuple(curve.hash_to_curve(each["secret"].encode()) for each in inputs),
            keyset_ids=frozenset(each["id"] for each in inputs),
        )


# ── reading the response ──


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The result of a swap: earned proofs and a refund token, ready for the ledger."""

    earned: tuple[StoredProof, ...]
    refund: RefundToken | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Reads the mint's responses to one swap."""

    seed: bytes
    keyset: Keyset
    refund_key: str
    mint_url: str

    def finish(self, plan: Plan, signatures: Sequence[BlindSignature]) -> Finished:
        """Check every signature and unblind them into proofs, or raise `BadAnswer`."""
        if len(signatures) != len(plan.outputs):
            message = f"Expected {len(plan.outputs)} signatures, got {len(signatures)}"
            raise BadAnswer(message)
        proofs: Mapping[Kind, list[Proof]] = {kind: [] for kind in get_args(Kind)}
        for output, signature in zip(plan.outputs, signatures, strict=True):
            proofs[output.kind].append(self._proof(output, signature))
        earned = tuple(StoredProof(p.y.hex(), p.amount, p.to_bytes()) for p in proofs["earn"])
        return Finished(earned=earned, refund=self._token(proofs["refund"]))

    def _proof(self, output: Output, signature: BlindSignature) -> Proof:
        if (signature.amount, signature.keyset_id) != (output.amount, self.keyset.id):
            message = "Signature for a different amount or keyset"
            raise BadAnswer(message)
        mint_point, dleq = self.keyset.keys[output.amount], signature.dleq
        if dleq is None or not curve.dleq_holds(
            mint_point=mint_point, blinded=output.b, signature=signature.c, e=dleq.e, s=dleq.s
        ):
            message = "Signature not made with the mint's published key"
            raise BadAnswer(message)
        secret, factor = _secret(
            output.kind, output.index, self.seed, self.keyset.id, self.refund_key
        )
        return Proof(
            amount=output.amount,
            keyset_id=self.keyset.id,
            secret=secret,
            c=curve.unblind(signature.c, factor, mint_point),
            dleq=Dleq(e=dleq.e, s=dleq.s, r=factor),
        )

    def _token(self, proofs: Sequence[Proof]) -> RefundToken | None:
        if not proofs:
            return None
        token = Token(mint=self.mint_url, unit=self.keyset.unit, proofs=tuple(proofs))
        return RefundToken(encode_v4(token), tuple(proof.y.hex() for proof in proofs))


def vault_token(stored: Sequence[bytes], *, mint_url: str, unit: str) -> str:
    """Encode earned proofs as a token that the operator can receive in any wallet."""
    proofs = tuple(Proof.from_bytes(data) for data in stored)
    return encode_v4(Token(mint=mint_url, unit=unit, proofs=proofs))
