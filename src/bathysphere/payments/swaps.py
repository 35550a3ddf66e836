"""Swaps: from a deposit to the outputs that it is exchanged for, and from a mint's answer to money.

One swap settles one deposit: its outputs are what was earned and what goes back, together. The
outputs come from the swap's seed (NUT-13), so the same swap is always the same bytes and can be
restored. They are sorted by amount, so that their order does not tell which of them go back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from bathysphere.payments.ledger.records import Prepared, RefundToken, ToSettle
from bathysphere.payments.ledger.records import Proof as KeptProof
from bathysphere.payments.nuts import curve, locks
from bathysphere.payments.nuts.derivation import derive
from bathysphere.payments.nuts.keysets import Keyset
from bathysphere.payments.nuts.proofs import BlindedMessage, BlindSignature, Dleq, Proof
from bathysphere.payments.nuts.tokens import Token, encode_v4
from bathysphere.payments.session_keys import SessionKeys

Kind: TypeAlias = Literal["earn", "refund"]


class BadAnswer(ValueError):
    """The mint's signatures are not those that were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """One output of a swap: number `index` of the swap's seed."""

    kind: Kind
    amount: int
    index: int
    b: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The outputs of a swap, in the order in which they are posted. It holds no secret."""

    keyset_id: str
    outputs: tuple[Output, ...]

    def messages(self) -> list[BlindedMessage]:
        """What the mint is asked to sign, or to restore."""
        return [
            BlindedMessage(amount=output.amount, keyset_id=self.keyset_id, b=output.b)
            for output in self.outputs
        ]

    def to_bytes(self) -> bytes:
        """For our own keeping."""
        outputs = [[o.kind, o.amount, o.index, o.b.hex()] for o in self.outputs]
        kept = {"keyset": self.keyset_id, "outputs": outputs}
        return json.dumps(kept, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, kept: bytes) -> Self:
        """What `to_bytes` kept."""
        fields = json.loads(kept)
        outputs = (
            Output(kind=kind, amount=amount, index=index, b=bytes.fromhex(b))
            for kind, amount, index, b in fields["outputs"]
        )
        return cls(keyset_id=fields["keyset"], outputs=tuple(outputs))


def prepare_swap(deposit: ToSettle, keyset: Keyset, keys: SessionKeys) -> Prepared:
    """The body to post and the plan to read the answer by. Pure: the ledger writes both down."""
    proofs = [Proof.from_bytes(kept.data) for kept in deposit.proofs]
    face = sum(proof.amount for proof in proofs)
    if face != deposit.earn + deposit.refund + deposit.fee:
        message = f"swap {deposit.swap_id} does not add up"
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
    # What goes back is locked to the person's key: in a log or a trace it is worth nothing.
    return locks.Lock(key=refund_key, nonce=derived.secret).secret(), derived.factor


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """What a swap gives to the mint, read from its body."""

    ys: tuple[bytes, ...]
    keyset_ids: frozenset[str]

    @classmethod
    def of(cls, body: bytes) -> Self:
        """The inputs of a body that `prepare_swap` made."""
        inputs = json.loads(body)["inputs"]
        return cls(
            ys=tuple(curve.hash_to_curve(each["secret"].encode()) for each in inputs),
            keyset_ids=frozenset(each["id"] for each in inputs),
        )


# ── reading the answer ──


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """What a swap gave: proofs of our own and a refund token, ready for the ledger."""

    earned: tuple[KeptProof, ...]
    refund: RefundToken | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Reads the answers to one swap."""

    seed: bytes
    keyset: Keyset
    refund_key: str
    mint_url: str

    def finish(self, plan: Plan, signatures: Sequence[BlindSignature]) -> Finished:
        """Check every signature and make money of them, or refuse them all with `BadAnswer`."""
        if len(signatures) != len(plan.outputs):
            message = f"{len(signatures)} signatures for {len(plan.outputs)} outputs"
            raise BadAnswer(message)
        proofs: Mapping[Kind, list[Proof]] = {kind: [] for kind in get_args(Kind)}
        for output, signature in zip(plan.outputs, signatures, strict=True):
            proofs[output.kind].append(self._proof(output, signature))
        earned = tuple(KeptProof(p.y.hex(), p.amount, p.to_bytes()) for p in proofs["earn"])
        return Finished(earned=earned, refund=self._token(proofs["refund"]))

    def _proof(self, output: Output, signature: BlindSignature) -> Proof:
        if (signature.amount, signature.keyset_id) != (output.amount, self.keyset.id):
            message = "a signature is for another amount or keyset"
            raise BadAnswer(message)
        mint_point, dleq = self.keyset.keys[output.amount], signature.dleq
        if dleq is None or not curve.dleq_holds(
            mint_point=mint_point, blinded=output.b, signature=signature.c, e=dleq.e, s=dleq.s
        ):
            message = "a signature is not by the mint's published key"
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


def vault_token(kept: Sequence[bytes], *, mint_url: str, unit: str) -> str:
    """Earned proofs as a token that the operator can receive in any wallet."""
    proofs = tuple(Proof.from_bytes(each) for each in kept)
    return encode_v4(Token(mint=mint_url, unit=unit, proofs=proofs))
