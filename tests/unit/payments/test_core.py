"""The parts of the core that the official vectors do not reach."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_mint import DOLLARS, EVIL, HONEST, PERSON, SESSION, OfflineMint

from bathysphere.payments import mint, validator
from bathysphere.payments.nuts import cbor, curve, derivation, keysets, locks, requests, tokens
from bathysphere.payments.nuts.proofs import (
    MAX_AMOUNT,
    BadWire,
    BlindedMessage,
    BlindSignature,
    Dleq,
    Proof,
    wire_amount,
    wire_list,
    wire_map,
    wire_number,
    wire_point,
    wire_scalar,
    wire_text,
)
from bathysphere.payments.session_keys import SessionKeys

G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


def test_the_limits_are_these():
    """Strangers send what is bounded by them."""
    assert (cbor.MAX_DEPTH, cbor.MAX_ITEMS, cbor.MAX_KEY) == (8, 20_000, 16)
    assert (locks.MAX_SECRET, MAX_AMOUNT) == (512, 2**63 - 1)
    assert (validator.MAX_TOKEN, validator.MAX_PROOFS) == (60_000, 64)
    assert (mint.MAX_BODY, mint.TIMEOUT_SECONDS) == (2_000_000, 10.0)


# ── curve ──


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=64), st.binary(min_size=32, max_size=32), st.integers(1, 2**200))
def test_what_is_blinded_and_signed_unblinds_to_the_signature_on_the_secret(message, seed, key):
    factor = (int.from_bytes(seed, "big") % (curve.ORDER - 1) + 1).to_bytes(32, "big")
    mint_key = key.to_bytes(32, "big")
    signed = curve.sign_blinded(curve.blind(message, factor), mint_key)
    unblinded = curve.unblind(signed, factor, curve.public_key(mint_key))
    assert unblinded == curve.sign_blinded(curve.hash_to_curve(message), mint_key)


@pytest.mark.parametrize(
    "data", [b"", b"\x02" * 32, b"\x02" + bytes(32), b"\x04" * 65, b"\x05" * 33]
)
def test_what_is_no_point(data):
    with pytest.raises(ValueError):
        curve.point(data)


def test_what_is_a_point():
    assert curve.point(bytes.fromhex(G)).hex() == G
    assert curve.public_key((1).to_bytes(32, "big")).hex() == G


def test_an_uncompressed_point_is_told_its_length():
    with pytest.raises(ValueError, match="33 bytes, got 65"):
        curve.point(b"\x04" * 65)


def test_a_dleq_with_r_that_blinds_to_nothing_does_not_hold():
    proof = HONEST.locked(8)
    known = {"mint_point": HONEST.keyset.keys[8], "message": proof.secret.encode()}
    dleq = {"e": proof.dleq.e, "s": proof.dleq.s}
    assert curve.dleq_holds_unblinded(**known, signature=proof.c, **dleq, r=proof.dleq.r)
    for wrong in ({"signature": proof.c, "r": bytes(32)}, {"signature": b"\x02" * 33}):
        asked = {"r": proof.dleq.r, **wrong}
        assert curve.dleq_holds_unblinded(**known, **dleq, **asked) is False
    blinded = {"mint_point": HONEST.keyset.keys[8], "blinded": proof.c, "signature": proof.c}
    assert curve.dleq_holds(**blinded, e=bytes(32), s=bytes(32)) is False


# ── CBOR ──

values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**64 - 1) | st.binary() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_read_back(value):
    try:
        assert cbor.decode(cbor.encode(value)) == value
    except cbor.BadCbor as error:
        assert "too deep" in str(error)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65535, "19ffff"),
     (65536, "1a00010000"), (2**32 - 1, "1affffffff"), (2**32, "1b0000000100000000"),
     (2**64 - 1, "1bffffffffffffffff"), (True, "f5"), (False, "f4"), (None, "f6"),
     (b"", "40"), ("", "60"), ([], "80"), ({}, "a0"), ("ü", "62c3bc"), ([1, [2]], "82018102"),
     ({"a": 1, "b": [b"x"]}, "a2616101616281" + "4178")],
)  # fmt: skip
def test_bytes_of_the_subset(value, written):
    assert cbor.encode(value).hex() == written
    assert cbor.decode(bytes.fromhex(written)) == value


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_without_a_place(number):
    with pytest.raises(cbor.BadCbor):
        cbor.encode(number)


@pytest.mark.parametrize(
    "written",
    ["", "1800", "1817", "190017", "1900ff", "1a0000ffff", "1b00000000ffffffff", "20", "3818",
     "c000", "f7", "f97e00", "fa00000000", "fb0000000000000000", "5f", "7f", "9f", "bf", "ff",
     "f8ff", "1c", "0000", "41", "62ff", "61ff", "81", "8201", "a1", "a16161", "a1616101ff",
     "a2616101616102", "a10101", "a1410101", "e0", "f3"],
)  # fmt: skip
def test_bytes_that_are_not_of_the_subset(written):
    with pytest.raises(cbor.BadCbor):
        cbor.decode(bytes.fromhex(written))


def test_depth_and_number_of_items_are_bounded():
    deepest = b"\x81" * cbor.MAX_DEPTH + b"\x00"
    assert cbor.decode(deepest)
    with pytest.raises(cbor.BadCbor, match="too deep"):
        cbor.decode(b"\x81" + deepest)
    maps = b"\xa1\x61a" * cbor.MAX_DEPTH + b"\x00"
    assert cbor.decode(maps)
    for deeper in (b"\xa1\x61a" + maps, b"\xa1\x61a" * 5000 + b"\x00"):
        with pytest.raises(cbor.BadCbor, match="too deep"):
            cbor.decode(deeper)
    most = [0] * (cbor.MAX_ITEMS - 1)
    assert cbor.decode(cbor.encode(most)) == most
    with pytest.raises(cbor.BadCbor, match="too many items"):
        cbor.decode(cbor.encode([*most, 0]))


def test_keys_have_a_longest_length():
    assert cbor.decode(cbor.encode({"k" * cbor.MAX_KEY: 1}))
    with pytest.raises(cbor.BadCbor, match="at most 16 bytes"):
        cbor.decode(cbor.encode({"k" * (cbor.MAX_KEY + 1): 1}))


def test_undefined_is_null_only_where_it_is_asked_for():
    assert cbor.decode(b"\x81\xf7", undefined=True) == [None]
    with pytest.raises(cbor.BadCbor):
        cbor.decode(b"\x81\xf7")


def test_a_map_whose_pairs_cannot_fit_is_refused_before_it_is_read():
    with pytest.raises(cbor.BadCbor, match="exceeds the input"):
        cbor.decode(b"\xa2\x61a\x00")
    with pytest.raises(cbor.BadCbor, match="exceeds the input"):
        cbor.decode(b"\x83\x00\x00")


# ── what comes from the wire ──


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (wire_map, [{}, {"a": 1}], [[], None, "x", 1]),
        (wire_list, [[], [1]], [{}, None, "x", 1, (1,)]),
        (wire_text, ["", "x"], [b"x", None, 1, ["x"]]),
        (wire_number, [0, 1, 2**70], [-1, 1.0, True, False, None, "1"]),
        (wire_amount, [1, MAX_AMOUNT], [0, -1, MAX_AMOUNT + 1, True, "1", 1.5]),
        (wire_point, [G, G.upper()], ["", "02", G[:-2], G + "00", "zz", None, 5, "04" + G[2:]]),
        (wire_scalar, ["00" * 32], ["", "00" * 31, "00" * 33, "zz" * 32, None, 5]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_reading_what_a_stranger_wrote(read, good, bad):
    for value in good:
        read(value)
    for value in bad:
        with pytest.raises(BadWire):
            read(value)


def test_what_is_read_is_what_was_written():
    assert wire_scalar("00" * 31 + "05") == bytes(31) + b"\x05"
    assert wire_point(G.upper()).hex() == G
    assert (wire_amount(8), wire_number(0), wire_text("x")) == (8, 0, "x")
    assert (wire_map({"a": 1}), wire_list([1])) == ({"a": 1}, [1])


def test_a_proof_goes_over_the_wire_without_its_dleq():
    proof = HONEST.locked(8)
    assert proof.y == curve.hash_to_curve(proof.secret.encode())
    sent = {"amount": 8, "id": HONEST.keyset.id, "secret": proof.secret, "C": proof.c.hex()}
    assert proof.wire() == sent
    assert proof.with_witness("w").wire() == {**sent, "witness": "w"}
    assert proof.with_witness("w") == replace(proof, witness="w")


@pytest.mark.parametrize("changes", [{}, {"dleq": None}, {"witness": "w"}])
def test_a_proof_that_is_kept_comes_back_whole(changes):
    proof = replace(HONEST.locked(8), **changes)
    assert Proof.from_bytes(proof.to_bytes()) == proof
    without_r = replace(proof, dleq=Dleq(e=b"e" * 32, s=b"s" * 32))
    assert Proof.from_bytes(without_r.to_bytes()) == without_r


def test_a_blinded_message_on_the_wire():
    message = BlindedMessage(amount=8, keyset_id="00", b=bytes.fromhex(G))
    assert message.wire() == {"amount": 8, "id": "00", "B_": G}


@pytest.mark.parametrize("name", ["amount", "id", "C_"])
def test_a_blind_signature_needs_all_its_fields(name):
    sent = {"amount": 8, "id": "00", "C_": G, "dleq": {"e": "00" * 32, "s": "00" * 32}}
    assert BlindSignature.from_wire(sent).amount == 8
    assert BlindSignature.from_wire({**sent, "dleq": None}).dleq is None
    for bad in ({**sent, name: None}, {**sent, name: []}):
        with pytest.raises(BadWire):
            BlindSignature.from_wire(bad)
    for dleq in ({"e": "00" * 32}, {"s": "00" * 32}, [], "x"):
        with pytest.raises(BadWire):
            BlindSignature.from_wire({**sent, "dleq": dleq})


# ── keysets ──


@pytest.mark.parametrize(
    ("amount", "parts"),
    [(0, []), (1, [1]), (7, [1, 2, 4]), (255, [2**n for n in range(8)]), (256, [256]),
     (2**63, [2**63]), (2**64, [2**63, 2**63])],
)  # fmt: skip
def test_an_amount_in_the_fewest_denominations(amount, parts):
    assert HONEST.keyset.split(amount) == parts


def test_an_amount_that_cannot_be_made():
    few = replace(HONEST.keyset, keys={2: b"", 8: b""})
    assert few.split(20) == [2, 2, 8, 8]
    for amount in (1, 7, -2):
        with pytest.raises(ValueError, match="Cannot make"):
            few.split(amount)


@pytest.mark.parametrize(
    ("fees", "fee"),
    [([], 0), ([0], 0), ([1], 1), ([100], 1), ([100] * 10, 1), ([100] * 11, 2), ([1000], 1),
     ([1000, 1], 2), ([999, 1], 1), ([2000, 500], 3)],
)  # fmt: skip
def test_the_fee_of_a_swap_is_rounded_up_once(fees, fee):
    assert keysets.input_fee([replace(HONEST.keyset, input_fee_ppk=f) for f in fees]) == fee


def test_the_keyset_for_new_outputs_is_the_cheapest_active_one_of_the_unit():
    cheap = OfflineMint("cheap", fee_ppk=0).keyset
    known = keysets.Keysets([HONEST.keyset, DOLLARS.keyset, cheap])
    assert known.active("sat") == cheap
    assert known.active("usd") == DOLLARS.keyset
    assert known.active("eur") is None
    idle = keysets.Keysets([replace(cheap, active=False), HONEST.keyset])
    assert idle.active("sat") == HONEST.keyset
    assert len(known) == 3
    assert {keyset.id for keyset in known} == {HONEST.keyset.id, DOLLARS.keyset.id, cheap.id}
    twins = keysets.Keysets([HONEST.keyset, EVIL.keyset])
    assert twins.active("sat").id == min(HONEST.keyset.id, EVIL.keyset.id)


def test_a_keyset_is_found_by_its_whole_id_or_by_8_bytes_of_it():
    known = keysets.Keysets([HONEST.keyset, DOLLARS.keyset])
    whole = HONEST.keyset.id
    assert known.get(whole) == HONEST.keyset
    assert known.get(whole[:16]) == HONEST.keyset
    for wrong in (whole[:15], whole[:17], whole[:-1], "", EVIL.keyset.id, EVIL.keyset.short_id):
        assert known.get(wrong) is None


def listed(keyset: keysets.Keyset, **changes) -> dict:
    fields = {"id": keyset.id, "unit": keyset.unit, "active": True}
    return {**fields, "input_fee_ppk": keyset.input_fee_ppk, **changes}


def keys_of(keyset: keysets.Keyset) -> dict[str, str]:
    return {str(amount): key.hex() for amount, key in keyset.keys.items()}


def test_a_keyset_from_the_wire_is_held_to_its_id():
    keys = keys_of(HONEST.keyset)
    assert keysets.keyset_from_wire(listed(HONEST.keyset), keys) == HONEST.keyset
    upper = listed(HONEST.keyset, id=HONEST.keyset.id.upper())
    assert keysets.keyset_from_wire(upper, keys) == HONEST.keyset
    idle = keysets.keyset_from_wire(listed(HONEST.keyset, active="yes"), keys)
    assert not idle.active
    free = OfflineMint("free", fee_ppk=0).keyset
    assert keysets.keyset_from_wire(listed(free, input_fee_ppk=None), keys_of(free)) == free
    ending = OfflineMint("ending", final_expiry=5).keyset
    read = keysets.keyset_from_wire(listed(ending, final_expiry=5), keys_of(ending))
    assert read == ending


@pytest.mark.parametrize(
    "changes",
    [{"id": EVIL.keyset.id}, {"id": "01" + "00" * 32}, {"id": "02" + "00" * 32}, {"id": ""},
     {"id": None}, {"unit": "usd"}, {"unit": None}, {"input_fee_ppk": 99}, {"input_fee_ppk": -1},
     {"input_fee_ppk": True}, {"input_fee_ppk": "100"}, {"final_expiry": 1}, {"final_expiry": "1"},
     {"id": "00" + HONEST.keyset.id[2:]}, {"id": keysets.keyset_id_v1(HONEST.keyset.keys) + "00"}],
)  # fmt: skip
def test_a_keyset_that_is_not_what_its_id_says(changes):
    with pytest.raises(BadWire):
        keysets.keyset_from_wire(listed(HONEST.keyset, **changes), keys_of(HONEST.keyset))


@pytest.mark.parametrize(
    "keys",
    [{}, [], None, {"0": G}, {"01": G}, {"-1": G}, {"1.0": G}, {"x": G}, {"": G}, {"١": G},
     {"1": "02"}, {"1": None}, {"1": 5}, {" 1": G}],
)  # fmt: skip
def test_keys_that_are_no_keys(keys):
    with pytest.raises(BadWire):
        keysets.keys_from_wire(keys)


def test_the_unit_in_an_id_is_in_lower_case():
    keys = HONEST.keyset.keys
    made = [
        keysets.keyset_id_v2(keys, u, input_fee_ppk=0, final_expiry=None) for u in ("SAT", "sat")
    ]
    assert made[0] == made[1]


# ── locks ──


def test_a_lock_is_written_and_read_back():
    for lock in (
        locks.Lock(key=SESSION, nonce="ab" * 16),
        locks.Lock(key=SESSION, nonce="ab" * 32, locktime=1),
        locks.Lock(
            key=SESSION, nonce="ab" * 32, locktime=999_999_999_999, refund=(PERSON, SESSION)
        ),
    ):
        assert locks.parse_lock(lock.secret()) == lock


def test_a_lock_of_the_longest_length_is_read():
    text = locks.Lock(key=SESSION, nonce="ab" * 32, refund=(PERSON,) * 4).secret()
    assert len(text) <= locks.MAX_SECRET
    assert locks.parse_lock(text)
    with pytest.raises(locks.BadLock, match="longer than"):
        locks.parse_lock(locks.Lock(key=SESSION, nonce="ab" * 32, refund=(PERSON,) * 6).secret())


def test_a_signature_is_always_the_same_and_holds_only_for_its_key_and_secret():
    key = b"\x11" * 32
    witness = locks.sign("secret", key)
    assert witness == locks.sign("secret", key)
    [signature] = map(bytes.fromhex, json.loads(witness)["signatures"])
    assert locks.signed_by("secret", curve.public_key(key), signature)
    assert not locks.signed_by("other", curve.public_key(key), signature)
    assert not locks.signed_by("secret", bytes.fromhex(PERSON), signature)
    assert not locks.signed_by("secret", curve.public_key(key), signature[:-1])
    assert not locks.signed_by("secret", b"\x02" + bytes(32), signature)


# ── secrets from a seed ──


def test_every_place_has_its_own_secret():
    ids = (HONEST.keyset.id, EVIL.keyset.id, "009a1f293253e41e")
    derived = [derivation.derive(seed, i, n) for seed in (b"a" * 32, b"b" * 32) for i in ids
               for n in range(3)]  # fmt: skip
    assert len({one.secret for one in derived}) == len(derived)
    assert len({one.factor for one in derived}) == len(derived)
    assert all(len(one.factor) == 32 and len(one.secret) == 64 for one in derived)


def test_session_keys_are_made_again_from_the_master_alone():
    keys, again = SessionKeys(b"m" * 32), SessionKeys(b"m" * 32)
    assert keys.secret_key("s1") == again.secret_key("s1")
    assert keys.public_key("s1") == curve.public_key(keys.secret_key("s1")).hex()
    others = {SessionKeys(b"n" * 32).public_key("s1"), keys.public_key("s2"), keys.public_key("s1")}
    assert len(others) == 3
    assert keys.swap_seed("s1") == again.swap_seed("s1") != keys.secret_key("s1")
    assert keys.swap_seed("s2") != keys.swap_seed("s1")
    assert "m" * 8 not in repr(keys)


def test_keys_are_the_same_in_every_version_of_this_code():
    """A change here would lock everybody out of what is deposited and not settled."""
    keys = SessionKeys(bytes(range(32)))
    assert keys.secret_key("ps_1").hex() == (
        "620d37d135f0a25151799cbc39cd29d28d3dcd7d3598e57ef889d68d9385a348"
    )
    assert keys.swap_seed("swap_1").hex() == (
        "e242882f90074d1c3dfb44c8c47b8a637042b11c823fd122c7d5b9dcbe99dd9a"
    )
    assert len(keys.secret_key("ps_1")) == 32
    assert repr(keys) == "SessionKeys(…)"


def test_a_short_master_is_refused():
    with pytest.raises(ValueError, match="at least 32"):
        SessionKeys(b"m" * 31)


# ── tokens and requests ──


def test_a_token_keeps_everything():
    proofs = (HONEST.locked(8), replace(EVIL.locked(4), witness="w"), HONEST.locked(2))
    token = tokens.Token(mint="https://m", unit="sat", memo="hi", proofs=proofs)
    assert token.amount == 14
    read = tokens.decode_v4(tokens.encode_v4(token, short_ids=False))
    assert set(read.proofs) == set(proofs)  # grouped by keyset, in their order
    assert [p.amount for p in read.proofs] == [8, 2, 4]
    assert (read.mint, read.unit, read.memo) == ("https://m", "sat", "hi")


def test_a_token_of_one_version_is_not_read_as_another():
    token = tokens.Token(mint="https://m", unit="usd", memo="für dich", proofs=())
    v3, v4 = tokens.encode_v3(token), tokens.encode_v4(token)
    assert tokens.decode_v3(v3) == tokens.decode_v4(v4) == token
    assert "für dich".encode() in tokens._unbase64(v3, "cashuA")
    for read, text in ((tokens.decode_v3, "cashuB" + v3[6:]), (tokens.decode_v4, v3[:6] + v4[6:])):
        with pytest.raises(tokens.BadToken, match="must start"):
            read(text)
    assert tokens._unbase64("cashuBAAAX", "cashuB") == b"\x00\x00\x17"
    assert tokens._base64(b"\x00\x00\x17") == "AAAX"
    short = tokens.encode_v4_bytes(replace(token, proofs=(HONEST.locked(8),)))
    assert bytes.fromhex(HONEST.keyset.id) not in short


def test_a_dleq_without_r_is_not_written():
    proof = replace(HONEST.locked(8), dleq=Dleq(e=b"e" * 32, s=b"s" * 32))
    token = tokens.Token(mint="https://m", unit="sat", proofs=(proof,))
    assert tokens.decode_v4(tokens.encode_v4(token)).proofs[0].dleq is None


@pytest.mark.parametrize(
    "body",
    [{}, {"token": []}, {"token": [{}, {}]}, {"token": [5]}, {"token": [{"mint": 5, "proofs": []}]},
     {"token": [{"mint": "m", "proofs": [{"amount": 0}]}]}, [], 5,
     {"token": [{"mint": "m", "proofs": [{"amount": 1, "id": "x", "secret": "s", "C": "zz"}]}]},
     {"token": [{"mint": "m", "proofs": []}], "memo": 5}],
)  # fmt: skip
def test_a_v3_token_that_is_none(body):
    with pytest.raises(tokens.BadToken):
        tokens.decode_v3("cashuA" + tokens._base64(json.dumps(body).encode()))


def test_a_v3_token_without_a_unit_is_in_sats():
    body = json.dumps({"token": [{"mint": "m", "proofs": []}]}).encode()
    assert tokens.decode_v3("cashuA" + tokens._base64(body)).unit == "sat"


@pytest.mark.parametrize(
    "body",
    [{}, {"i": "x", "u": "sat"}, {"i": 5, "u": "sat", "m": []}, {"i": "x", "u": "sat", "m": [5]},
     {"i": "x", "u": "sat", "m": [], "a": "5"}, {"i": "x", "u": "sat", "m": [], "s": 1},
     {"i": "x", "u": "sat", "m": [], "d": 1}, {"i": "x", "u": "sat", "m": [], "nut10": []},
     {"i": "x", "u": "sat", "m": [], "nut10": {"k": "P2PK"}},
     {"i": "x", "u": "sat", "m": [], "nut10": {"k": "P2PK", "d": "k", "t": [5]}}, [], 5],
)  # fmt: skip
def test_a_payment_request_that_is_none(body):
    with pytest.raises(requests.BadRequest):
        requests.decode_request("creqA" + tokens._base64(cbor.encode(body)))


A_REQUEST = requests.PaymentRequest(id="x", unit="sat", mints=("m",)).encode()


@pytest.mark.parametrize(
    "text", ["", "creqB", "creqA$", "creqAo", "creqA", "creqB" + A_REQUEST[5:], A_REQUEST[5:]]
)
def test_a_text_that_is_no_payment_request(text):
    with pytest.raises(requests.BadRequest):
        requests.decode_request(text)


def test_a_request_in_the_other_alphabet_is_the_same_request():
    for number in range(1000):
        asked = requests.PaymentRequest(id=f"?{number}>~", unit="sat", mints=("m",))
        text = asked.encode()
        if "-" in text and "_" in text:
            break
    other = text.replace("-", "+").replace("_", "/")
    assert other != text
    assert requests.decode_request(other) == requests.decode_request(f"{text}==") == asked


def test_the_tags_of_a_wanted_lock():
    lock = requests.LockWanted(key=SESSION, tags=(("locktime", "5"), ("refund", "a", "b")))
    assert lock.tag("locktime") == ("5",)
    assert lock.tag("refund") == ("a", "b")
    assert lock.tag("other") is None
    bare = requests.PaymentRequest(
        id="x", unit="sat", mints=("m",), lock=requests.LockWanted(key=SESSION)
    )
    assert requests.decode_request(bare.encode()) == bare
    assert bare.lock.kind == "P2PK"
