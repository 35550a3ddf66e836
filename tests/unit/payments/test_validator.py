"""Every attack on a deposit that we know of, refused with the right word and without a crash."""

import base64
import json
import secrets
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_mint import (
    ATTACKER,
    DOLLARS,
    EVIL,
    HONEST,
    HOUR,
    KEYSETS,
    LOCKTIME,
    NOW,
    PERSON,
    SESSION,
    URL,
    OfflineMint,
    rules,
    token,
)

from bathysphere.payments.errors import HINTS, Reason, TokenRefused
from bathysphere.payments.nuts import cbor, curve, locks
from bathysphere.payments.nuts.keysets import Keysets
from bathysphere.payments.nuts.tokens import Token, decode_v4, encode_v3, encode_v4
from bathysphere.payments.validator import MAX_PROOFS, MAX_TOKEN, validate

GOOD = token([HONEST.locked(64)])


def refusal(text: str, *, keysets: Keysets = KEYSETS, **changes) -> str:
    with pytest.raises(TokenRefused) as refused:
        validate(text, rules(**changes), keysets)
    assert refused.value.code == "token_refused"
    assert refused.value.hint == HINTS.get(refused.value.reason)
    return refused.value.reason


# ── what is taken ──


def test_a_good_token_is_taken_without_asking_anybody():
    proofs = [HONEST.locked(64), HONEST.locked(8), HONEST.locked(1)]
    valid = validate(token(proofs), rules(), KEYSETS)
    assert (valid.face, valid.fee, valid.credited) == (73, 1, 72)
    assert valid.locktime == LOCKTIME
    assert valid.ys == tuple(proof.y for proof in proofs)
    assert [proof.keyset_id for proof in valid.proofs] == [HONEST.keyset.id] * 3
    assert [proof.secret for proof in valid.proofs] == [proof.secret for proof in proofs]


def test_full_and_short_keyset_ids_are_taken():
    assert decode_v4(GOOD).proofs[0].keyset_id == HONEST.keyset.id[:16]
    full = token([HONEST.locked(64)], short_ids=False)
    assert validate(full, rules(), KEYSETS).face == 64


def test_keysets_of_version_1_are_taken():
    old = OfflineMint("old", version=1)
    assert validate(token([old.locked(64)]), rules(), Keysets([old.keyset])).credited == 63


def test_the_first_locktime_counts():
    proofs = [HONEST.locked(64), HONEST.locked(64, locktime=LOCKTIME - 5)]
    assert validate(token(proofs), rules(), KEYSETS).locktime == LOCKTIME - 5


@pytest.mark.parametrize("inputs", [1, 10, 11, 20, 21, MAX_PROOFS])
def test_the_fee_is_rounded_up_over_all_inputs(inputs):
    valid = validate(token([HONEST.locked(64) for _ in range(inputs)]), rules(), KEYSETS)
    assert (valid.face, valid.fee) == (64 * inputs, -(-inputs // 10))


@pytest.mark.parametrize("spaced", [False, True], ids=["compact", "python"])
@pytest.mark.parametrize("order", [("nonce", "data", "tags"), ("data", "nonce", "tags")])
def test_both_ways_in_which_wallets_write_a_lock_are_taken(spaced, order):
    tags = [["sigflag", "SIG_INPUTS"], ["locktime", str(LOCKTIME)], ["refund", PERSON],
            ["n_sigs", "1"], ["n_sigs_refund", "1"]]  # fmt: skip
    fields = {"nonce": secrets.token_hex(16), "data": SESSION, "tags": tags}
    body = ["P2PK", {name: fields[name] for name in order}]
    secret = json.dumps(body) if spaced else json.dumps(body, separators=(",", ":"))
    assert validate(token([HONEST.sign(secret, 64)]), rules(), KEYSETS).face == 64


def test_times_at_the_edges_are_taken():
    for locktime in (NOW + 2 * HOUR, NOW + 30 * 24 * HOUR):
        good = token([HONEST.locked(64, locktime=locktime)])
        assert validate(good, rules(), KEYSETS).locktime == locktime


# ── locks that open for others ──


def lock_text(*, kind="P2PK", key=SESSION, extra=(), locktime=str(LOCKTIME), refund=(PERSON,)):
    tags = [["sigflag", "SIG_INPUTS"], *extra]
    if locktime is not None:
        tags.append(["locktime", locktime])
    if refund is not None:
        tags.append(["refund", *refund])
    body = [kind, {"nonce": secrets.token_hex(32), "data": key, "tags": tags}]
    return json.dumps(body, separators=(",", ":"))


def refused_lock(secret: str) -> str:
    return refusal(token([HONEST.sign(secret, 64)]))


def test_the_lock_that_the_attacks_change_is_good():
    assert validate(token([HONEST.sign(lock_text(), 64)]), rules(), KEYSETS).face == 64


LOCKS = {
    "pubkeys adds the attacker": (lock_text(extra=[["pubkeys", ATTACKER]]), "lock_malformed"),
    "pubkeys adds ourselves": (lock_text(extra=[["pubkeys", SESSION]]), "lock_malformed"),
    "two signatures are needed": (lock_text(extra=[["n_sigs", "2"]]), "lock_malformed"),
    "no signature is needed": (lock_text(extra=[["n_sigs", "0"]]), "lock_malformed"),
    "n_sigs has two values": (lock_text(extra=[["n_sigs", "1", "2"]]), "lock_malformed"),
    "two refund signatures": (lock_text(extra=[["n_sigs_refund", "2"]]), "lock_malformed"),
    "locktime is past": (lock_text(locktime=str(NOW - 1)), "lock_time_too_soon"),
    "locktime is too soon": (lock_text(locktime=str(NOW + 2 * HOUR - 1)), "lock_time_too_soon"),
    "locktime is too late": (
        lock_text(locktime=str(NOW + 30 * 24 * HOUR + 1)), "lock_time_too_late"),
    "locktime has 400 digits": (lock_text(locktime="9" * 400), "lock_malformed"),
    "locktime has 13 digits": (lock_text(locktime="1" * 13), "lock_malformed"),
    "locktime is a number": (lock_text(locktime=LOCKTIME), "lock_malformed"),
    "locktime is negative": (lock_text(locktime="-1"), "lock_malformed"),
    "locktime has a plus": (lock_text(locktime=f"+{LOCKTIME}"), "lock_malformed"),
    "locktime has a zero before it": (lock_text(locktime=f"0{LOCKTIME}"), "lock_malformed"),
    "locktime has a space": (lock_text(locktime=f"{LOCKTIME} "), "lock_malformed"),
    "locktime has other digits": (lock_text(locktime="١٨٠٠٠٠٠٠٠٠"), "lock_malformed"),
    "locktime is missing": (lock_text(locktime=None), "lock_time_missing"),
    "locktime has two values": (
        lock_text(locktime=None, extra=[["locktime", str(LOCKTIME), "1"]]), "lock_malformed"),
    "no refund key": (lock_text(refund=None), "lock_wrong_refund"),
    "an empty refund": (lock_text(refund=()), "lock_malformed"),
    "the attacker's refund key": (lock_text(refund=(ATTACKER,)), "lock_wrong_refund"),
    "two refund keys": (lock_text(refund=(PERSON, ATTACKER)), "lock_wrong_refund"),
    "the refund key twice": (lock_text(refund=(PERSON, PERSON)), "lock_wrong_refund"),
    "the refund key in upper case": (lock_text(refund=(PERSON.upper(),)), "lock_malformed"),
    "the refund key is no key": (lock_text(refund=("02",)), "lock_malformed"),
    "the attacker's key": (lock_text(key=ATTACKER), "lock_wrong_key"),
    "our key in upper case": (lock_text(key=SESSION.upper()), "lock_malformed"),
    "our key uncompressed": (lock_text(key="04" + SESSION[2:]), "lock_malformed"),
    "the key is no text": (lock_text(key=5), "lock_malformed"),
    "SIG_ALL": (lock_text().replace("SIG_INPUTS", "SIG_ALL"), "lock_malformed"),
    "sigflag twice": (lock_text(extra=[["sigflag", "SIG_INPUTS"]]), "lock_malformed"),
    "locktime twice": (lock_text(extra=[["locktime", "1"]]), "lock_malformed"),
    "refund twice": (lock_text(extra=[["refund", ATTACKER]]), "lock_malformed"),
    "an unknown tag": (lock_text(extra=[["memo", "hello"]]), "lock_malformed"),
    "an empty tag": (lock_text(extra=[[]]), "lock_malformed"),
    "a tag without a value": (lock_text(extra=[["n_sigs"]]), "lock_malformed"),
    "a tag that is no list": (lock_text(extra=["n_sigs"]), "lock_malformed"),
    "HTLC": (lock_text(kind="HTLC"), "lock_malformed"),
    "the kind in lower case": (lock_text(kind="p2pk"), "lock_malformed"),
    "an unknown kind": (lock_text(kind="P2PK2"), "lock_malformed"),
    "the kind is no text": (lock_text(kind=None), "lock_missing"),
    "plain": (secrets.token_hex(32), "lock_missing"),
    "empty": ("", "lock_missing"),
    "an empty list": ("[]", "lock_missing"),
    "a JSON number": ("5", "lock_missing"),
    "an object, not a list": (json.dumps({"P2PK": json.loads(lock_text())[1]},
                                         separators=(",", ":")), "lock_missing"),
    "one element": ('["P2PK"]', "lock_malformed"),
    "three elements": (lock_text()[:-1] + ",1]", "lock_malformed"),
    "pairs, not an object": (
        json.dumps(["P2PK", [list(p) for p in json.loads(lock_text())[1].items()]],
                   separators=(",", ":")), "lock_malformed"),
    "a leading space": (" " + lock_text(), "lock_malformed"),
    "a line at the end": (lock_text() + "\n", "lock_malformed"),
    "a space inside": (lock_text().replace(",", ", ", 1), "lock_malformed"),
    "a unicode escape": (lock_text().replace("P2PK", "\\u00502PK"), "lock_malformed"),
    "an escaped key": (lock_text().replace('"data"', '"d\\u0061ta"'), "lock_malformed"),
    "a JSON key twice": (
        lock_text().replace('"data":', f'"data":"{ATTACKER}","data":', 1), "lock_malformed"),
    "a further field": (lock_text().replace('"nonce"', '"x":1,"nonce"', 1), "lock_malformed"),
    "no nonce": (lock_text().replace('"nonce"', '"monce"', 1), "lock_malformed"),
    "a nonce that is no hex": (
        json.dumps(["P2PK", {"nonce": "z" * 32, "data": SESSION, "tags": [
            ["locktime", str(LOCKTIME)], ["refund", PERSON]]}]), "lock_malformed"),
    "a nonce that is a number": (
        json.dumps(["P2PK", {"nonce": 5, "data": SESSION, "tags": []}]), "lock_malformed"),
    "a short nonce": (
        json.dumps(["P2PK", {"nonce": "a" * 31, "data": SESSION, "tags": []}]), "lock_malformed"),
    "a long nonce": (
        json.dumps(["P2PK", {"nonce": "a" * 65, "data": SESSION, "tags": []}]), "lock_malformed"),
    "tags that are no list": (
        json.dumps(["P2PK", {"nonce": "a" * 32, "data": SESSION, "tags": "x"}]), "lock_malformed"),
    "tags that are an object": (
        json.dumps(["P2PK", {"nonce": "a" * 32, "data": SESSION, "tags": {}}]), "lock_malformed"),
    "a tag that is an object": (
        json.dumps(["P2PK", {"nonce": "a" * 32, "data": SESSION,
                             "tags": [{"refund": PERSON}]}]), "lock_malformed"),
    "NaN": ('["P2PK",NaN]', "lock_malformed"),
    "a number of 5000 digits": ("[" + "9" * 400 + "]", "lock_missing"),
    "deep nesting": ("[" * 500, "lock_missing"),
    "a secret that the mint finds too long": (
        lock_text(extra=[["n_sigs", "1"]] * 1)[:-3] + " " * 500 + "]}]", "lock_malformed"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_is_not_exactly_ours_is_refused(name):
    secret, reason = LOCKS[name]
    assert refused_lock(secret) == reason


def test_a_secret_of_any_length_over_the_limit_is_refused_before_it_is_parsed():
    secret = lock_text()
    assert len(secret) < locks.MAX_SECRET
    padded = secret + " " * (locks.MAX_SECRET + 1 - len(secret))
    with pytest.raises(locks.BadLock, match="longer than"):
        locks.parse_lock(padded)


# ── money that is not there ──


def test_a_forged_secret_under_a_stolen_signature():
    stolen = HONEST.locked(64)
    forged = replace(stolen, secret=lock_text())
    assert refusal(token([forged])) == "dleq_invalid"


@pytest.mark.parametrize("amount", [1, 32, 128, 2**40])
def test_a_changed_amount(amount):
    assert refusal(token([replace(HONEST.locked(64), amount=amount)])) == "dleq_invalid"


def test_no_dleq():
    assert refusal(token([replace(HONEST.locked(64), dleq=None)])) == "dleq_missing"


@pytest.mark.parametrize("part", ["e", "s", "r"])
@pytest.mark.parametrize("value", [bytes(32), b"\xff" * 32, b"\x01" * 32])
def test_a_dleq_that_is_not_of_this_proof(part, value):
    good = HONEST.locked(64)
    bad = replace(good, dleq=replace(good.dleq, **{part: value}))
    assert refusal(token([bad])) == "dleq_invalid"


def test_one_bad_proof_among_good_ones():
    good = [HONEST.locked(64) for _ in range(5)]
    assert refusal(token([*good, replace(HONEST.locked(64), amount=128)])) == "dleq_invalid"
    assert refusal(token([*good, HONEST.sign("plain", 64)])) == "lock_missing"


@pytest.mark.parametrize("amount", [3, 63, 100])
def test_an_amount_that_is_no_denomination(amount):
    assert refusal(token([replace(HONEST.locked(64), amount=amount)])) == (
        "amount_not_a_denomination"
    )


@pytest.mark.parametrize("c", [b"\x02" + bytes(32), b"\x05" + b"\x11" * 32, b"\x04" * 33])
def test_a_signature_that_is_no_point(c):
    assert refusal(token([replace(HONEST.locked(64), c=c)])) == "point_invalid"


def test_the_same_proof_twice():
    proof = HONEST.locked(64)
    assert refusal(token([proof, proof])) == "secret_repeated"
    assert refusal(token([proof, replace(proof, amount=128)])) == "secret_repeated"


def test_e_cash_of_another_mint():
    foreign = EVIL.locked(64)
    assert refusal(token([foreign], mint="https://evil.test")) == "mint_mismatch"
    assert refusal(token([foreign])) == "keyset_unknown"  # under our mint's address
    ours = replace(foreign, keyset_id=HONEST.keyset.id)
    assert refusal(token([ours])) == "dleq_invalid"  # under our mint's keyset


def test_a_short_id_that_names_two_keysets_names_none():
    twin = replace(HONEST.keyset, id=HONEST.keyset.id[:16] + "00" * 25)
    assert refusal(GOOD, keysets=Keysets([HONEST.keyset, twin])) == "keyset_unknown"


def test_dollars_as_sats():
    assert refusal(token([DOLLARS.locked(64)])) == "keyset_unit"
    assert refusal(token([DOLLARS.locked(64)], unit="usd")) == "unit_mismatch"
    assert refusal(token([HONEST.locked(64)], unit="SAT")) == "unit_mismatch"


def test_a_keyset_that_expires_before_we_might_settle():
    expiry = NOW + 30 * 24 * HOUR
    soon, late = (OfflineMint("x", final_expiry=e) for e in (expiry - 1, expiry))
    assert refusal(token([soon.locked(64)]), keysets=Keysets([soon.keyset])) == "keyset_expiring"
    assert validate(token([late.locked(64)]), rules(), Keysets([late.keyset])).face == 64


def test_a_token_that_carries_a_witness():
    proof = HONEST.locked(64).with_witness('{"signatures":[]}')
    assert refusal(token([proof])) == "witness_present"


def test_dust_that_the_fee_eats():
    assert refusal(token([HONEST.locked(1)])) == "amount_too_small"
    valid = validate(token([HONEST.locked(1) for _ in range(40)]), rules(), KEYSETS)
    assert (valid.face, valid.fee, valid.credited) == (40, 4, 36)
    dear = OfflineMint("dear", fee_ppk=1000)
    dust = token([dear.locked(1) for _ in range(40)])
    assert refusal(dust, keysets=Keysets([dear.keyset])) == "amount_too_small"


def test_a_sum_that_no_column_holds():
    proofs = [HONEST.locked(2**62), HONEST.locked(2**62)]
    assert refusal(token(proofs)) == "amount_too_large"
    assert validate(token(proofs[:1]), rules(), KEYSETS).face == 2**62


# ── addresses ──

ADDRESSES = [
    "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "https://mint.test@evil.test",
    "https://mint.test:443", "https://mint.test/", "https://MINT.test", "https://mint.test/path",
    "http://mint.test", "https://localhost", "https://127.0.0.1", "https://mint.test#x",
    "https://mint.test?x", " https://mint.test", "https://mint.test.", "", "https://mint.test\n",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_exactly_the_configured_one(address):
    assert refusal(token([HONEST.locked(64)], mint=address)) == "mint_mismatch"


# ── texts that are no tokens ──


def raw(body: bytes) -> str:
    return "cashuB" + base64.urlsafe_b64encode(body).decode().rstrip("=")


def body_with(**changes) -> dict:
    proof = HONEST.locked(64)
    written = {
        "a": proof.amount, "s": proof.secret, "c": proof.c,
        "d": {"e": proof.dleq.e, "s": proof.dleq.s, "r": proof.dleq.r}, **changes,
    }  # fmt: skip
    keyset = bytes.fromhex(proof.keyset_id)
    return {"t": [{"i": keyset, "p": [written]}], "m": URL, "u": "sat"}


def bad_proof(**changes) -> str:
    return refusal(raw(cbor.encode(body_with(**changes))))


def test_the_body_that_the_attacks_change_is_good():
    assert validate(raw(cbor.encode(body_with())), rules(), KEYSETS).face == 64


@pytest.mark.parametrize("amount", [0, 2**63, 2**64 - 1, True, False, None, "64", b"\x40", [64]])
def test_an_amount_that_is_no_amount(amount):
    assert bad_proof(a=amount) == "token_malformed"


HEADS = {
    "a negative amount": b"\x38\x3f",
    "half a float": b"\xf9\x54\x00",
    "a float": b"\xfb\x40\x50\x00\x00\x00\x00\x00\x00",
    "NaN": b"\xf9\x7e\x00",
    "a bignum": b"\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00",
    "a date": b"\xc1\x18\x40",
    "undefined": b"\xf7",
    "64 in two bytes too many": b"\x1a\x00\x00\x00\x40",
    "a simple value of two bytes": b"\xf8\x40",
    "a reserved length": b"\x1c",
}


@pytest.mark.parametrize("name", HEADS)
def test_an_amount_that_is_not_in_the_subset(name):
    good = cbor.encode(body_with())
    assert good.count(b"\x61a\x18\x40") == 1
    bad = good.replace(b"\x61a\x18\x40", b"\x61a" + HEADS[name])
    assert refusal(raw(bad)) == "token_malformed"


SHAPES = {
    "no list of keysets": {"m": URL, "u": "sat"},
    "a list of numbers": {"t": [1], "m": URL, "u": "sat"},
    "an unknown field": {**body_with(), "x": 1},
    "an unknown field of a proof": body_with(x=1),
    "a P2BK ephemeral key": body_with(pe=b"\x02" * 33),
    "an unknown field of a keyset": {**body_with(), "t": [{"i": b"12345678", "p": [], "x": 1}]},
    "a mint that is no text": {**body_with(), "m": 5},
    "a unit that is no text": {**body_with(), "u": None},
    "a memo that is no text": {**body_with(), "d": 5},
    "a keyset id that is text": {**body_with(), "t": [{"i": "12345678", "p": []}]},
    "a keyset id of 7 bytes": {**body_with(), "t": [{"i": b"1234567", "p": []}]},
    "a secret that is bytes": body_with(s=b"secret"),
    "a C of 32 bytes": body_with(c=b"\x02" * 32),
    "a C of 65 bytes": body_with(c=b"\x04" * 65),
    "a C that is text": body_with(c="02" * 33),
    "a DLEQ that is a list": body_with(d=[]),
    "a DLEQ without r": body_with(d={"e": b"e" * 32, "s": b"s" * 32}),
    "a DLEQ with more": body_with(d={"e": b"e" * 32, "s": b"s" * 32, "r": b"r" * 32, "x": 1}),
    "a DLEQ of 31 bytes": body_with(d={"e": b"e" * 31, "s": b"s" * 32, "r": b"r" * 32}),
    "a witness that is a number": body_with(w=5),
    "proofs that are a map": {**body_with(), "t": [{"i": b"12345678", "p": {}}]},
    "a list": [1, 2],
    "a number": 5,
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_no_token_has(name):
    assert refusal(raw(cbor.encode(SHAPES[name]))) == "token_malformed"


def test_a_memo_is_taken():
    assert validate(raw(cbor.encode({**body_with(), "d": "thanks"})), rules(), KEYSETS).face == 64


def test_no_proofs_and_too_many():
    assert refusal(raw(cbor.encode({**body_with(), "t": []}))) == "too_many_proofs"
    proofs = [HONEST.locked(1) for _ in range(MAX_PROOFS + 1)]
    assert refusal(token(proofs)) == "too_many_proofs"


def test_1500_proofs():
    proof = replace(HONEST.sign("s", 1), dleq=None)
    many = [replace(proof, secret=str(n)) for n in range(700)]
    assert refusal(token(many)) == "too_many_proofs"
    assert refusal(token([replace(proof, secret=str(n)) for n in range(1500)])) == "token_too_large"


TEXTS = {
    "empty": ("", "token_version"),
    "version 3": (
        encode_v3(Token(mint=URL, unit="sat", proofs=(HONEST.locked(64),))), "token_version"),
    "a version that does not exist": ("cashuC" + GOOD[6:], "token_version"),
    "upper case": ("CASHUB" + GOOD[6:], "token_version"),
    "a space before it": (" " + GOOD, "token_version"),
    "a space after it": (GOOD + " ", "token_malformed"),
    "a URI": ("cashu:" + GOOD, "token_version"),
    "only the prefix": ("cashuB", "token_malformed"),
    "not base64": ("cashuB$$$$", "token_malformed"),
    "one character": ("cashuBo", "token_malformed"),
    "the other alphabet": ("cashuB//++", "token_malformed"),
    "too much padding": (GOOD + "=====", "token_malformed"),
    "padding inside": (GOOD[:100] + "=" + GOOD[100:], "token_malformed"),
    "not ASCII": ("cashuBé", "token_malformed"),
    "a byte too many": (raw(cbor.encode(body_with()) + b"\x00"), "token_malformed"),
    "a byte too few": (raw(cbor.encode(body_with())[:-1]), "token_malformed"),
    "too large": ("cashuB" + "o" * MAX_TOKEN, "token_too_large"),
    "a false length of a text": (raw(b"\xa1\x61t\x7a\xff\xff\xff\xff"), "token_malformed"),
    "a false length of a list": (raw(b"\xa1\x61t\x9a\xff\xff\xff\xff"), "token_malformed"),
    "a false length of a map": (raw(b"\xba\xff\xff\xff\xff"), "token_malformed"),
    "a list without end": (raw(b"\x9f\xff"), "token_malformed"),
    "deep nesting": (raw(b"\x81" * 40_000), "token_malformed"),
    "a key twice": (raw(b"\xa2\x61m\x01\x61m\x01"), "token_malformed"),
    "a key that is a number": (raw(b"\xa1\x01\x01"), "token_malformed"),
    "a key that is long": (raw(b"\xa1\x71" + b"k" * 17 + b"\x01"), "token_malformed"),
    "a text that is not UTF-8": (raw(b"\xa1\x61m\x61\xff"), "token_malformed"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_token(name):
    text, reason = TEXTS[name]
    assert refusal(text) == reason


def test_a_padded_token_is_taken():
    body = cbor.encode(body_with())
    padded = "cashuB" + base64.urlsafe_b64encode(body + b"").decode()
    assert validate(padded, rules(), KEYSETS).face == 64


def test_bits_after_the_end_of_base64_are_refused():
    body = cbor.encode(body_with())
    text = raw(body)
    if len(body) % 3 == 0:
        body = cbor.encode({**body_with(), "d": "x"})
        text = raw(body)
    assert len(body) % 3
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sloppy = text[:-1] + alphabet[alphabet.index(text[-1]) | 1]
    assert refusal(sloppy) == "token_malformed"


def test_a_token_at_the_largest_size_is_looked_at():
    assert refusal("cashuB" + "o" * (MAX_TOKEN - 6)) == "token_malformed"


# ── and whatever else there is ──


@settings(max_examples=120, deadline=None)
@given(st.binary(max_size=400))
def test_bytes_that_are_no_token_are_malformed(data):
    assert refusal(raw(data)) == "token_malformed"


@settings(max_examples=120, deadline=None)
@given(position=st.integers(0, len(GOOD) - 1), bit=st.integers(0, 6))
def test_no_changed_character_passes_or_crashes(position, bit):
    changed = GOOD[:position] + chr(ord(GOOD[position]) ^ (1 << bit)) + GOOD[position + 1 :]
    head = "token_version" if position < len("cashuB") else None
    reason = refusal(changed)
    assert reason in get_args(Reason)
    assert head is None or reason == head


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_no_secret_crashes_the_lock_parser(secret):
    with pytest.raises((locks.NoLock, locks.BadLock)):
        locks.parse_lock(secret)


def test_a_lock_for_one_session_is_worth_nothing_in_another():
    other = curve.public_key(b"\x44" * 32).hex()
    assert refusal(GOOD, session_key=other) == "lock_wrong_key"
    assert refusal(GOOD, refund_key=other) == "lock_wrong_refund"
    assert encode_v4(decode_v4(GOOD)) == GOOD
