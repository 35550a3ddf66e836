"""A swap from its making to its answer, with the mint's keys in the test's hand."""

import hashlib
import json
from dataclasses import replace

import pytest
from offline_mint import EVIL, HONEST, PERSON, URL, OfflineMint

from bathysphere.payments.ledger.records import Proof as KeptProof
from bathysphere.payments.ledger.records import ToSettle
from bathysphere.payments.nuts import curve, locks
from bathysphere.payments.nuts.proofs import BlindSignature, Dleq, Proof
from bathysphere.payments.nuts.tokens import decode_v4
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.payments.swaps import (
    BadAnswer,
    Inputs,
    Plan,
    Reader,
    prepare_swap,
    vault_token,
)

KEYS = SessionKeys(b"m" * 32)
LOCKED = [HONEST.locked(64, key=KEYS.public_key("s1")), HONEST.locked(8, key=KEYS.public_key("s1"))]


def deposit(**changes) -> ToSettle:
    proofs = tuple(KeptProof(p.y.hex(), p.amount, p.to_bytes()) for p in LOCKED)
    fields = {
        "swap_id": "swap1", "attempt": 1, "session_id": "s1", "deposit_id": "d1",
        "refund_pubkey": PERSON, "earn": 11, "refund": 60, "fee": 1, "proofs": proofs,
    }  # fmt: skip
    return ToSettle(**{**fields, **changes})


def signed(plan: Plan, mint: OfflineMint = HONEST) -> list[BlindSignature]:
    """What the mint answers."""
    return [blind_signature(mint, output.amount, output.b) for output in plan.outputs]


def blind_signature(mint: OfflineMint, amount: int, blinded: bytes) -> BlindSignature:
    key, nonce = mint._secret[amount], b"\x07" * 32
    c = curve.sign_blinded(blinded, key)
    points = (curve.public_key(nonce), curve.sign_blinded(blinded, nonce), curve.public_key(key), c)
    e = curve.dleq_hash(*points)
    number = int.from_bytes(nonce, "big") + int.from_bytes(e, "big") * int.from_bytes(key, "big")
    s = (number % curve.ORDER).to_bytes(32, "big")
    return BlindSignature(amount=amount, keyset_id=mint.keyset.id, c=c, dleq=Dleq(e=e, s=s))


def reader(**changes) -> Reader:
    fields = {"seed": KEYS.swap_seed("swap1"), "keyset": HONEST.keyset, "refund_key": PERSON}
    return Reader(**{**fields, "mint_url": URL, **changes})


PREPARED = prepare_swap(deposit(), HONEST.keyset, KEYS)
PLAN = Plan.from_bytes(PREPARED.outputs)


def test_the_outputs_are_what_was_earned_and_what_goes_back():
    earn = sorted(o.amount for o in PLAN.outputs if o.kind == "earn")
    refund = sorted(o.amount for o in PLAN.outputs if o.kind == "refund")
    assert (earn, refund) == ([1, 2, 8], [4, 8, 16, 32])
    assert sorted(output.index for output in PLAN.outputs) == list(range(7))
    assert len({output.b for output in PLAN.outputs}) == 7
    assert PLAN.keyset_id == HONEST.keyset.id


def test_the_order_of_the_outputs_tells_nothing():
    order = [(output.amount, output.b) for output in PLAN.outputs]
    assert order == sorted(order)


def test_the_body_is_signed_for_every_input_and_carries_no_dleq():
    body = json.loads(PREPARED.body)
    assert body.keys() == {"inputs", "outputs"}
    for sent, proof in zip(body["inputs"], LOCKED, strict=True):
        assert sent.keys() == {"amount", "id", "secret", "C", "witness"}
        assert sent["secret"] == proof.secret
        [signature] = map(bytes.fromhex, json.loads(sent["witness"])["signatures"])
        assert locks.signed_by(proof.secret, bytes.fromhex(KEYS.public_key("s1")), signature)
    assert body["outputs"] == [message.wire() for message in PLAN.messages()]
    assert b" " not in PREPARED.body
    inputs = Inputs.of(PREPARED.body)
    assert inputs.ys == tuple(proof.y for proof in LOCKED)
    assert inputs.keyset_ids == {HONEST.keyset.id}


def test_the_same_swap_is_the_same_bytes_and_another_one_is_not():
    assert prepare_swap(deposit(), HONEST.keyset, KEYS) == PREPARED
    other = prepare_swap(deposit(swap_id="swap2"), HONEST.keyset, KEYS)
    assert not {o.b for o in Plan.from_bytes(other.outputs).outputs} & {o.b for o in PLAN.outputs}
    elsewhere = prepare_swap(deposit(), EVIL.keyset, KEYS)
    assert not {o.b for o in Plan.from_bytes(elsewhere.outputs).outputs} & {
        o.b for o in PLAN.outputs
    }


def test_outputs_are_the_same_in_every_version_of_this_code():
    """A swap that was posted by an older version is restored by these outputs."""
    assert hashlib.sha256(PREPARED.outputs).hexdigest() == (
        "78d4185d0a030aed209c944f8234ca5e47b720ff12a614035f1165d13a0bb585"
    )


def test_no_secret_is_in_the_plan():
    seed = KEYS.swap_seed("swap1")
    from bathysphere.payments.nuts.derivation import derive

    for index in range(7):
        derived = derive(seed, HONEST.keyset.id, index)
        assert derived.secret.encode() not in PREPARED.outputs + PREPARED.body
        assert derived.factor.hex().encode() not in PREPARED.outputs + PREPARED.body


@pytest.mark.parametrize("changes", [{"earn": 10}, {"refund": 61}, {"fee": 0}])
def test_a_swap_that_does_not_add_up_is_not_made(changes):
    with pytest.raises(ValueError, match="Unbalanced swap swap1"):
        prepare_swap(deposit(**changes), HONEST.keyset, KEYS)


def test_the_answer_becomes_money():
    finished = reader().finish(PLAN, signed(PLAN))
    earned = [Proof.from_bytes(kept.data) for kept in finished.earned]
    assert sorted(kept.amount for kept in finished.earned) == [1, 2, 8]
    token = decode_v4(finished.refund.token)
    assert (token.mint, token.unit, token.amount) == (URL, "sat", 60)
    assert finished.refund.ys == tuple(proof.y.hex() for proof in token.proofs)
    assert [kept.y for kept in finished.earned] == [proof.y.hex() for proof in earned]
    for proof in [*earned, *token.proofs]:
        assert curve.sign_blinded(proof.y, HONEST._secret[proof.amount]) == proof.c
        assert curve.dleq_holds_unblinded(
            mint_point=HONEST.keyset.keys[proof.amount],
            message=proof.secret.encode(),
            signature=proof.c,
            e=proof.dleq.e,
            s=proof.dleq.s,
            r=proof.dleq.r,
        )
    for proof in earned:
        assert len(bytes.fromhex(proof.secret)) == 32
    for proof in token.proofs:
        assert locks.parse_lock(proof.secret) == locks.Lock(
            key=PERSON, nonce=locks.parse_lock(proof.secret).nonce
        )


@pytest.mark.parametrize(("earn", "refund"), [(71, 0), (0, 71)])
def test_nothing_or_everything_goes_back(earn, refund):
    prepared = prepare_swap(deposit(earn=earn, refund=refund), HONEST.keyset, KEYS)
    plan = Plan.from_bytes(prepared.outputs)
    finished = reader().finish(plan, signed(plan))
    assert sum(kept.amount for kept in finished.earned) == earn
    assert (finished.refund is None) == (refund == 0)


def change(**fields):
    return lambda good: [replace(good[0], **fields), *good[1:]]


LIES = {
    "one too few": lambda good: good[:-1],
    "one too many": lambda good: [*good, good[0]],
    "none": lambda good: [],
    "two changed places": lambda good: [good[1], good[0], *good[2:]],
    "another amount": change(amount=2),
    "another keyset": change(keyset_id=EVIL.keyset.id),
    "no DLEQ": change(dleq=None),
    "another point": change(c=HONEST.keyset.keys[1]),
    "another's DLEQ": lambda good: [replace(good[0], dleq=good[1].dleq), *good[1:]],
    "an evil mint's signatures": lambda good: [
        replace(one, keyset_id=HONEST.keyset.id) for one in signed(PLAN, EVIL)
    ],
}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_is_not_true_is_refused_whole(lie):
    with pytest.raises(BadAnswer):
        reader().finish(PLAN, LIES[lie](signed(PLAN)))


def test_what_was_earned_can_be_taken_out_as_a_token():
    finished = reader().finish(PLAN, signed(PLAN))
    text = vault_token([kept.data for kept in finished.earned], mint_url=URL, unit="sat")
    token = decode_v4(text)
    assert (token.mint, token.unit, token.amount) == (URL, "sat", 11)
    assert all(proof.dleq and proof.dleq.r for proof in token.proofs)
