"""The proof: the same bytes each time, and any change is noticed."""

import io
import json
import random
import zipfile

import pytest
from proofs import APPROVALS, AUDITS, PLAN, SHA, SIGNER, WHEN, proof, report

from bathysphere.core.canonical import NotCanonical, canonical, digest, from_canonical, sha256
from bathysphere.evidence.archive import BadArchive, build_archive, read_archive
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.evidence.proof.export import DOMAIN, UnprovenReport, export_proof
from bathysphere.evidence.proof.signing import Signer, fingerprint, is_signed

PROOF = proof()


def failed(data: bytes, **more) -> str:
    """The check that fails."""
    result = verify_proof(data, **more)
    assert not result.ok
    [name] = [check.name for check in result.checks if check.state == "failed"]
    assert all(check.detail for check in result.checks)
    return name


def test_a_proof_holds_and_says_what_it_is():
    result = verify_proof(PROOF, expected_key=SIGNER.public_key)
    assert result.ok, result.checks
    assert {check.state for check in result.checks} == {"passed"}
    assert len(result.checks) == 9
    assert result.fingerprint == fingerprint(SIGNER.public_key)
    assert (result.claims, result.unsupported, result.sources) == (6, 3, 3)
    assert result.created_at == "2026-11-15T12:30:00Z"


def test_the_same_report_is_the_same_bytes():
    assert proof() == PROOF
    assert proof("drop") != PROOF
    assert verify_proof(proof("drop")).ok


def test_other_programs_can_open_it():
    with zipfile.ZipFile(io.BytesIO(PROOF)) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[:3] == ["manifest.json", "signature.json", "report.md"]
        assert archive.read("report.md").startswith(b"# What is known")
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def spans() -> dict[str, tuple[int, int]]:
    """Where each part of the file is: each file's header and data, and the index at the end."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(PROOF)) as archive:
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            found[f"header of {info.filename}"] = (info.header_offset, start)
            found[info.filename] = (start, start + info.file_size)
        found["index"] = (archive.start_dir, len(PROOF))
    return found


POSITIONS_PER_PART = 120


def positions(part: tuple[int, int], rng: random.Random) -> list[int]:
    places = range(*part)
    return sorted(rng.sample(places, min(len(places), POSITIONS_PER_PART)))


def test_a_flipped_byte_anywhere_is_noticed():
    rng = random.Random(1)
    tried = 0
    for name, part in spans().items():
        for place in positions(part, rng):
            changed = bytearray(PROOF)
            changed[place] ^= 1 << rng.randrange(8)
            assert not verify_proof(bytes(changed)).ok, (name, place)
            tried += 1
    assert tried >= 2_000
    assert verify_proof(PROOF).ok


@pytest.mark.parametrize("name", ["manifest.json", "signature.json", "quotes.json", "index"])
def test_every_single_bit_of_the_small_parts_counts(name):
    start, end = spans()[name]
    rng = random.Random(2)
    for place in range(start, end):
        changed = bytearray(PROOF)
        changed[place] ^= 1 << rng.randrange(8)
        assert not verify_proof(bytes(changed)).ok, (name, place)


def test_bytes_that_are_added_cut_off_or_no_archive_at_all():
    for data in (
        b"",
        b"PK",
        PROOF[:-1],
        PROOF + b"\0",
        b"\0" + PROOF,
        PROOF[: len(PROOF) // 2],
        PROOF + PROOF,
        b"PK\3\4" + b"\xff" * 40,
        PROOF[: spans()["index"][0]],
    ):
        assert failed(data) == "archive"


def mended(seed: int) -> tuple[str, bytes]:
    """A byte of one file flipped, and the archive's own checksums made to fit again."""
    rng = random.Random(seed)
    files = read_archive(PROOF)
    at = seed % len(files)
    name, body = files[at]
    changed = bytearray(body)
    changed[rng.randrange(len(body))] ^= rng.randrange(1, 256)
    files[at] = (name, bytes(changed))
    return name, build_archive(files)


def test_a_flipped_byte_is_noticed_where_the_archive_is_mended():
    found = {}
    for seed in range(2_000):
        name, data = mended(seed)
        found.setdefault(name, set()).add(failed(data))
    assert found.pop("signature.json") == {"signature"}
    assert found.pop("manifest.json") <= {"manifest", "signature"}
    assert set.union(*found.values()) == {"manifest"}


def resealed(**changes) -> bytes:
    """The manifest changed and everything but the signature made to fit."""
    files = dict(read_archive(PROOF))
    files["manifest.json"] = canonical(from_canonical(files["manifest.json"]) | changes)
    return build_archive(list(files.items()))


def test_only_the_signature_guards_the_manifest_and_it_does():
    assert failed(resealed(created_at="2020-01-01T00:00:00Z")) == "signature"
    assert failed(resealed(public_key=Signer(bytes(32)).public_key)) == "signature"
    assert verify_proof(resealed()).ok


# ── a forger who has a key of their own can sign anything; what is checked still has to be true ──


def forged(change) -> bytes:
    """The proof with changed files, hashed and signed again with another key."""
    files = dict(read_archive(PROOF))
    manifest = from_canonical(files.pop("manifest.json"))
    files.pop("signature.json")
    change(files)
    other = Signer(bytes(32))
    manifest |= {
        "public_key": other.public_key,
        "plan_sha256": sha256(files["plan.json"]) if "plan.json" in files else SHA,
        "files": [
            {"path": path, "bytes": len(data), "sha256": sha256(data)}
            for path, data in files.items()
        ],
    }
    signed = canonical(manifest)
    signature = {
        "algorithm": "Ed25519",
        "public_key": other.public_key,
        "signature": other.sign(DOMAIN + signed),
    }
    front = [("manifest.json", signed), ("signature.json", canonical(signature))]
    return build_archive([*front, *files.items()])


def edit(path: str, change):
    def apply(files):
        value = from_canonical(files[path])
        files[path] = canonical(change(value) or value)

    return apply


def dated_text(files) -> str:
    return next(path for path in files if path.endswith(".txt") and b"1974" in files[path])


def swap_text(files):
    path = dated_text(files)
    files[path] = files[path].replace(b"1974", b"1975")


def swap_text_and_hash(files):
    path = dated_text(files)
    swap_text(files)
    hashed = {"text_sha256": sha256(files[path])}
    edit(path.replace(".txt", ".json"), lambda info: info | hashed)(files)


def first_claim(report):
    return report["sections"][0]["claims"][0]


FORGERIES = {
    "text": (swap_text, "snapshots"),
    "text and hash": (
        swap_text_and_hash,
        "snapshots",
    ),
    "a part is gone": (lambda files: files.pop("audits.json"), "snapshots"),
    "one file too many": (lambda files: files.update({"zzz.txt": b"x"}), "snapshots"),
    "words of a quote": (
        edit("quotes.json", lambda q: q[0].update(text=q[0]["text"].replace("1974", "1900"))),
        "quotes",
    ),
    "place of a quote": (
        edit("quotes.json", lambda q: q[0].update(start=q[0]["start"] + 1)),
        "quotes",
    ),
    "a quote twice": (edit("quotes.json", lambda q: [*q, q[0]]), "quotes"),
    "a quote less": (edit("quotes.json", lambda q: q[1:]), "report"),
    "a claim without its quote": (
        edit("report.json", lambda r: first_claim(r).update(quotes=[])),
        "report",
    ),
    "a bad claim called good": (
        edit("report.json", lambda r: r["sections"][0]["claims"][3].update(status="supported")),
        "report",
    ),
    "figures": (edit("report.json", lambda r: r["tally"].update(unsupported=0)), "report"),
    "a source's address": (
        edit(
            "report.json",
            lambda r: r["sources"][0]["snapshot"].update(url="https://other.example/"),
        ),
        "report",
    ),
    "a source's number": (
        edit("report.json", lambda r: r["sources"][0].update(number=7)),
        "report",
    ),
    "a field less": (
        edit("report.json", lambda r: r["sources"][0].pop("flags") and None),
        "report",
    ),
    "a field of a quote less": (
        edit("quotes.json", lambda q: q[0].pop("found") and None),
        "quotes",
    ),
    "an unknown field": (edit("report.json", lambda r: r.update(extra=1)), "report"),
    "words of a claim": (
        edit("report.json", lambda r: first_claim(r).update(text="It is new.")),
        "markdown",
    ),
    "the readable report": (
        lambda files: files.update({"report.md": b"# All is well\n"}),
        "markdown",
    ),
    "the plan": (edit("plan.json", lambda p: p.update(objective="Something else")), "plan"),
    "the audit": (edit("audits.json", lambda a: a[-1].update(verdict="rejected")), "plan"),
    "no audit": (edit("audits.json", lambda a: a.clear()), "plan"),
    "a rejection last": (edit("approvals.json", lambda a: [*a, a[0]]), "plan"),
    "no approval": (edit("approvals.json", lambda a: a.clear()), "plan"),
    "another's approval": (
        edit("approvals.json", lambda a: a[-1].update(plan_sha256="1" * 64)),
        "plan",
    ),
    "json with a space": (
        lambda files: files.update({"plan.json": files["plan.json"].replace(b":", b": ", 1)}),
        "plan",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_signed_anew_is_found(name):
    change, check = FORGERIES[name]
    assert failed(forged(change)) == check


ODD_VALUES = (
    None,
    True,
    0,
    -1,
    1.5,
    1.0,
    2**70,
    "",
    "x",
    "c1",
    [],
    {},
    [[]],
    {"a": None},
    ["q"],
    "0" * 64,
)


def mutated(seed: int) -> bytes:
    """A forgery in which one value somewhere in the JSON is another, or is gone."""
    rng = random.Random(seed)

    def change(files):
        path = rng.choice([path for path in files if path.endswith(".json")])
        value = from_canonical(files[path])
        places = [(value, key) for key in keys_of(value)]
        for parent, key in places:
            places += [(parent[key], inner) for inner in keys_of(parent[key])]
        parent, key = rng.choice(places)
        if rng.random() < 0.2:
            del parent[key]
        else:
            parent[key] = rng.choice(ODD_VALUES)
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        files[path] = text.encode()

    return forged(change)


def keys_of(value) -> list:
    return (
        list(value)
        if isinstance(value, dict)
        else list(range(len(value)))
        if isinstance(value, list)
        else []
    )


@pytest.mark.parametrize("seed", range(150))
def test_odd_json_is_an_answer_and_never_an_exception(seed):
    result = verify_proof(mutated(seed))
    assert result.ok == all(check.state == "passed" for check in result.checks)


def test_json_that_is_too_deep_is_refused():
    for depth in (400, 990, 5_000, 200_000):
        deep = b"[" * depth + b"]" * depth
        result = verify_proof(forged(lambda files, deep=deep: files.update({"plan.json": deep})))
        assert not result.ok


def test_a_proof_signed_again_is_a_different_proof():
    copy = forged(lambda files: None)
    assert verify_proof(copy).ok
    assert failed(copy, expected_key=SIGNER.public_key) == "signature"
    assert verify_proof(copy).fingerprint != fingerprint(SIGNER.public_key)


def test_a_page_from_a_site_that_the_plan_does_not_name_is_found():
    narrow = {**PLAN, "steps": [PLAN["steps"][1]]}
    sha = digest(narrow)
    more = {
        "plan": narrow,
        "audits": [AUDITS[0] | {"plan_sha256": sha}],
        "approvals": [APPROVALS[1] | {"plan_sha256": sha}],
    }
    assert failed(proof(**more)) == "places"


def test_a_report_that_does_not_stand_is_not_exported():
    made, pages = report()
    with pytest.raises(UnprovenReport):
        export_proof(
            made,
            pages[1:],
            plan=PLAN,
            audits=AUDITS,
            approvals=APPROVALS,
            signer=SIGNER,
            created_at=WHEN,
        )


# ── the parts ──


def test_a_signature_has_one_spelling():
    signature = SIGNER.sign(b"x")
    assert is_signed(b"x", SIGNER.public_key, signature)
    for key, text in (
        (SIGNER.public_key.upper(), signature),
        (SIGNER.public_key, signature.upper()),
        (SIGNER.public_key, signature + "\n"),
        (SIGNER.public_key, " " + signature[1:]),
        (SIGNER.public_key, signature[:-2]),
        ("0" * 64, signature),
        ("f" * 64, signature),
    ):
        assert not is_signed(b"x", key, text)


def test_a_fresh_signer_has_a_key_of_its_own():
    assert Signer.generate().public_key != Signer.generate().public_key


@pytest.mark.parametrize("files", [[("a", b"x")], [("a", b""), ("b/c.txt", b"PK\3\4" * 9)]])
def test_an_archive_comes_back_as_it_was(files):
    assert read_archive(build_archive(files)) == files


def test_an_archive_has_each_name_once():
    with pytest.raises(BadArchive):
        build_archive([("a", b""), ("a", b"")])


@pytest.mark.parametrize(
    "value", [1.5, 2**53, -(2**53), {"a": float("nan")}, {1: 2}, {"a": {1, 2}}, ["\ud800"]]
)
def test_some_things_have_no_canonical_form(value):
    with pytest.raises(NotCanonical):
        canonical(value)


@pytest.mark.parametrize(
    "data", [b'{"b":1,"a":2}', b'{"a": 1}', b'{"a":1,"a":1}', b"1.0", b"x", b'"\xff"', b'"\\u0041"']
)
def test_other_spellings_of_json_are_refused(data):
    with pytest.raises(NotCanonical):
        from_canonical(data)
