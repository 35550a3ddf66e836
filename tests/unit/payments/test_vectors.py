"""The official test vectors of every NUT that the core uses (see tests/vectors/README.md)."""

import json
from pathlib import Path

import pytest

from bathysphere.payments.nuts import cbor, curve, derivation, keysets, locks, requests, tokens
from bathysphere.payments.nuts.proofs import BadWire, BlindSignature, Proof

VECTORS = Path(__file__).parents[2] / "vectors"
hexed = bytes.fromhex


def vectors(nut: str):
    return json.loads((VECTORS / f"nut-{nut}.json").read_text(encoding="utf-8"))


NUT00, NUT01, NUT02 = vectors("00"), vectors("01"), vectors("02")
NUT11, NUT12, NUT13, NUT18 = vectors("11"), vectors("12"), vectors("13"), vectors("18")


def test_every_file_of_vectors_names_its_source():
    for path in VECTORS.glob("*.json"):
        assert json.loads(path.read_text())["source"].startswith("github.com/cashubtc/nuts tests/")


# ── NUT-00 ──


@pytest.mark.parametrize("vector", NUT00["hash_to_curve"])
def test_hash_to_curve(vector):
    assert curve.hash_to_curve(hexed(vector["message"])).hex() == vector["point"]


@pytest.mark.parametrize("vector", NUT00["blinded_messages"])
def test_blinded_messages(vector):
    assert curve.blind(hexed(vector["x"]), hexed(vector["r"])).hex() == vector["B_"]


@pytest.mark.parametrize("vector", NUT00["blinded_signatures"])
def test_blinded_signatures(vector):
    assert curve.sign_blinded(hexed(vector["B_"]), hexed(vector["k"])).hex() == vector["C_"]


def test_a_v3_token_is_written_as_the_vector():
    [entry] = NUT00["v3"]["json"]["token"]
    token = tokens.Token(
        mint=entry["mint"],
        unit=NUT00["v3"]["json"]["unit"],
        memo=NUT00["v3"]["json"]["memo"],
        proofs=tuple(
            Proof(amount=p["amount"], keyset_id=p["id"], secret=p["secret"], c=hexed(p["C"]))
            for p in entry["proofs"]
        ),
    )
    assert tokens.encode_v3(token) == NUT00["v3"]["serialized"]
    assert tokens.decode_v3(NUT00["v3"]["serialized"]) == token


@pytest.mark.parametrize("text", NUT00["v3"]["correct"])
def test_a_correct_v3_token_is_read(text):
    token = tokens.decode_v3(text)
    assert token.amount == 10
    assert tokens.encode_v3(token) == text.rstrip("=")


@pytest.mark.parametrize("text", NUT00["v3"]["incorrect"].values(), ids=NUT00["v3"]["incorrect"])
def test_an_incorrect_v3_token_is_refused(text):
    with pytest.raises(tokens.BadToken):
        tokens.decode_v3(text)


def test_the_raw_v3_token_is_its_json_in_our_cbor():
    assert b"crawA" + cbor.encode(NUT00["v3"]["json"]) == hexed(NUT00["v3"]["raw"])
    assert cbor.decode(hexed(NUT00["v3"]["raw"])[5:]) == NUT00["v3"]["json"]


@pytest.mark.parametrize("vector", NUT00["v4"], ids=["single keyset", "multiple keysets"])
def test_a_v4_token_is_written_and_read_as_the_vector(vector):
    proofs = tuple(
        Proof(amount=p["a"], keyset_id=p["i"], secret=p["s"], c=hexed(p["c"]))
        for p in vector["proofs"]
    )
    token = tokens.Token(
        mint=vector["mint"], unit=vector["unit"], memo=vector["memo"], proofs=proofs
    )
    assert tokens.decode_v4(vector["encoded"]) == token
    assert tokens.encode_v4(token) == vector["encoded"].rstrip("=")
    if "raw" in vector:
        assert b"crawB" + tokens.encode_v4_bytes(token) == hexed(vector["raw"])


# ── NUT-01, NUT-02 ──


@pytest.mark.parametrize("vector", NUT01["incorrect"], ids=lambda v: v["why"])
def test_incorrect_keys_are_refused(vector):
    with pytest.raises(BadWire):
        keysets.keys_from_wire(vector["keys"])


@pytest.mark.parametrize("keys", NUT01["correct"], ids=["small", "large"])
def test_correct_keys_are_read(keys):
    read = keysets.keys_from_wire(keys)
    assert {str(amount): key.hex() for amount, key in read.items()} == keys


@pytest.mark.parametrize("vector", NUT02["v1"], ids=lambda v: v["id"])
def test_keyset_ids_of_version_1(vector):
    keys = keysets.keys_from_wire(NUT02["keys"][vector["keys"]])
    assert keysets.keyset_id_v1(keys) == vector["id"]
    listed = {"id": vector["id"], "unit": "sat", "active": True}
    assert keysets.keyset_from_wire(listed, NUT02["keys"][vector["keys"]]).id == vector["id"]


@pytest.mark.parametrize("vector", NUT02["v2"], ids=lambda v: v["id"][:16])
def test_keyset_ids_of_version_2(vector):
    keys = NUT02["keys"][vector["keys"]]
    read = keysets.keyset_from_wire({**vector, "active": True}, keys)
    assert read.computed_id() == vector["id"]
    for changed in ({"unit": "usd"}, {"input_fee_ppk": 1}, {"final_expiry": 1}):
        with pytest.raises(BadWire, match="does not match"):
            keysets.keyset_from_wire({**vector, "active": True, **changed}, keys)


# ── NUT-11 ──


@pytest.mark.parametrize("vector", NUT11["signatures"], ids=lambda v: v["what"])
def test_p2pk_signatures(vector):
    """A signature holds for the key that made it, and for no other secret."""
    signatures = vector.get("signatures") or [vector["signature"]]
    keys = vector.get("keys") or [vector["key"]]
    for signature in map(hexed, signatures):
        holders = [k for k in keys if locks.signed_by(vector["secret"], hexed(k), signature)]
        assert len(holders) == 1
        assert not any(locks.signed_by(vector["secret"] + " ", hexed(k), signature) for k in keys)


def test_locks_that_others_could_open_are_refused():
    *_, with_refund = NUT11["signatures"]
    several = NUT11["signatures"][1]
    others = (with_refund, several, NUT11["sig_all"], NUT11["htlc"])
    for secret in (vector["secret"] for vector in others):
        with pytest.raises(locks.BadLock):
            locks.parse_lock(secret)


def test_the_plain_lock_of_the_vector_is_read():
    plain = NUT11["signatures"][0]
    assert locks.parse_lock(plain["secret"]).key == plain["key"]
    assert locks.parse_lock(plain["secret"]).secret() == plain["secret"]


# ── NUT-12 ──


def test_dleq_hash():
    vector = NUT12["hash_e"]
    points = (hexed(vector[name]) for name in ("R1", "R2", "K", "C_"))
    assert curve.dleq_hash(*points).hex() == vector["hash"]


@pytest.mark.parametrize("name", ["deterministic_nonce", "blind_signature"])
def test_dleq_of_a_blind_signature(name):
    vector = NUT12[name]
    dleq = vector.get("dleq", vector)
    known = {
        "mint_point": hexed(vector["A"]),
        "blinded": hexed(vector["B_"]),
        "signature": hexed(vector["C_"]),
        "e": hexed(dleq["e"]),
        "s": hexed(dleq["s"]),
    }
    assert curve.dleq_holds(**known)
    for changed in ("e", "s"):
        assert not curve.dleq_holds(**{**known, changed: known[changed][:-1] + b"\x07"})
    other = curve.public_key(b"\x05" * 32)
    for changed in ("mint_point", "blinded", "signature"):
        assert not curve.dleq_holds(**{**known, changed: other})


def test_dleq_of_a_proof():
    vector = NUT12["proof"]
    known = {
        "mint_point": hexed(vector["A"]),
        "message": vector["secret"].encode(),
        "signature": hexed(vector["C"]),
        **{name: hexed(value) for name, value in vector["dleq"].items()},
    }
    assert curve.dleq_holds_unblinded(**known)
    for changed in ("e", "s", "r"):
        for bad in (known[changed][:-1] + b"\x07", bytes(32), b"\xff" * 32):
            assert not curve.dleq_holds_unblinded(**{**known, changed: bad})
    assert not curve.dleq_holds_unblinded(**{**known, "message": b"another"})


def test_a_blind_signature_is_read_from_the_wire():
    sent = {name: NUT12["blind_signature"][name] for name in ("amount", "id", "C_", "dleq")}
    read = BlindSignature.from_wire(sent)
    assert (read.amount, read.keyset_id, read.c.hex()) == (8, sent["id"], sent["C_"])
    assert read.dleq is not None
    assert read.dleq.e.hex() == sent["dleq"]["e"]
    assert read.dleq.s.hex() == sent["dleq"]["s"]


# ── NUT-13 ──


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_secrets_and_factors_from_a_seed(version):
    seed = derivation.seed_from_words(NUT13["mnemonic"])
    vector = NUT13[version]
    for counter, (secret, factor) in enumerate(zip(vector["secrets"], vector["r"], strict=True)):
        derived = derivation.derive(seed, vector["keyset_id"], counter)
        assert (derived.secret, derived.factor.hex()) == (secret, factor)


def test_keyset_ids_as_numbers():
    for keyset_id, number in NUT13["keyset_numbers"].items():
        assert derivation.keyset_number(keyset_id) == number


# ── NUT-18 ──

OURS = {"i", "a", "u", "s", "m", "d", "nut10"}


def request_of(fields) -> requests.PaymentRequest:
    lock = fields.get("nut10")
    return requests.PaymentRequest(
        id=fields["i"],
        unit=fields["u"],
        mints=tuple(fields["m"]),
        amount=fields.get("a"),
        single_use=fields.get("s"),
        description=fields.get("d"),
        lock=lock
        and requests.LockWanted(kind=lock["k"], key=lock["d"], tags=tuple(map(tuple, lock["t"]))),
    )


@pytest.mark.parametrize("vector", NUT18["requests"], ids=lambda v: v["name"])
def test_payment_requests_are_read(vector):
    assert requests.decode_request(vector["encoded"]) == request_of(vector["json"])


@pytest.mark.parametrize(
    "vector",
    [v for v in NUT18["requests"] if v["json"].keys() <= OURS],
    ids=lambda v: v["name"],
)
def test_payment_requests_without_transport_are_written_as_the_vector(vector):
    assert request_of(vector["json"]).encode() == vector["encoded"].rstrip("=")


@pytest.mark.parametrize("vector", NUT18["requests"], ids=lambda v: v["name"])
def test_what_we_write_of_a_request_is_read_back(vector):
    request = request_of(vector["json"])
    assert requests.decode_request(request.encode()) == request
