"""The browser's verifier says of every proof what `bathysphere verify` says of it."""

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from proofs import SIGNER, odd_proof, proof
from test_proof import FORGERIES, PROOF, forged, mended, mutated, positions, resealed, spans

from bathysphere.evidence.proof.check import MEANING, verify_proof
from bathysphere.evidence.proof.page import verifier_page
from bathysphere.evidence.proof.signing import fingerprint
from bathysphere.evidence.render.blocks import (
    APPENDIX,
    CLOSING,
    FINDINGS,
    FLAGS,
    FOLLOWS,
    NO_ANSWER,
    NOT_FOLLOWS,
    NOT_JUDGED,
    ORIGINS,
)

NODE = Path(__file__).parents[3] / "tests" / "node"


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("verifier") / "verify.html"
    path.write_text(verifier_page(), encoding="utf-8")
    return path


def run_page(page: Path, cases: list[dict]) -> list[dict]:
    """What the page's script says of some proofs, run by Node."""
    command = ["node", str(NODE / "run_verifier.mjs"), str(page)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, timeout=55, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.node
def test_both_verifiers_agree_on_proofs_and_forgeries(page, tmp_path):
    proofs = {"marked": PROOF, "dropped": proof("drop"), "nothing": b"", "cut": PROOF[:-1]}
    proofs |= {"essay": b"# An essay\n" * 9, "zip": b"PK\3\4" + bytes(26) + b"word/document.xml"}
    proofs |= {name: forged(change) for name, (change, _) in FORGERIES.items()}
    proofs |= {f"odd {seed}": mutated(seed) for seed in range(150)}
    proofs |= {f"mended {seed}": mended(seed)[1] for seed in range(100)}
    proofs |= {"resealed": resealed(created_at="2020-01-01T00:00:00Z")}
    cases = []
    for number, data in enumerate(proofs.values()):
        (tmp_path / f"{number}.zip").write_bytes(data)
        cases.append({"path": str(tmp_path / f"{number}.zip")})
    said = run_page(page, cases)
    for (name, data), answer in zip(proofs.items(), said, strict=True):
        ours = verify_proof(data)
        failed = next((check.name for check in ours.checks if check.state == "failed"), None)
        assert (answer["ok"], answer["failed"]) == (ours.ok, failed), (name, answer)
        assert answer["is_proof"] == ours.is_proof, name
    assert [answer["ok"] for answer in said][:6] == [True, True, False, False, False, False]
    assert [answer["is_proof"] for answer in said][:6] == [True, True, False, True, False, False]
    assert said[0]["fingerprint"] == fingerprint(SIGNER.public_key)


@pytest.mark.node
def test_odd_letters_are_read_alike(page, tmp_path):
    cases = []
    for seed in range(60):
        path = tmp_path / f"{seed}.zip"
        path.write_bytes(odd_proof(seed))
        assert verify_proof(path.read_bytes()).ok
        cases.append({"path": str(path)})
    said = run_page(page, cases)
    assert [(n, answer) for n, answer in enumerate(said) if not answer["ok"]] == []


@pytest.mark.node
def test_the_page_notices_a_flipped_byte_anywhere(page, tmp_path):
    rng = random.Random(5)
    flips = [
        [place, rng.randrange(8)] for part in spans().values() for place in positions(part, rng)
    ]
    assert len(flips) >= 2_000
    (tmp_path / "a.zip").write_bytes(PROOF)
    [answer] = run_page(page, [{"path": str(tmp_path / "a.zip"), "flips": flips}])
    assert answer["ok"]
    assert answer["passed_flips"] == []


@pytest.mark.node
def test_the_page_holds_a_proof_to_the_expected_key(page, tmp_path):
    (tmp_path / "a.zip").write_bytes(PROOF)
    path = str(tmp_path / "a.zip")
    right, wrong = run_page(
        page, [{"path": path, "key": SIGNER.public_key}, {"path": path, "key": "0" * 64}]
    )
    assert right["ok"]
    assert (wrong["ok"], wrong["failed"]) == (False, "signature")


@pytest.mark.node
def test_a_person_sees_it_in_chromium(page, tmp_path):
    chromium = shutil.which("chromium")
    assert chromium, "Debian's chromium is part of the machine"
    changed = bytearray(PROOF)
    changed[len(changed) // 2] ^= 1
    for name, data in (("good", PROOF), ("bad", bytes(changed))):
        (tmp_path / f"{name}.zip").write_bytes(data)
    command = ["node", str(NODE / "browse_verifier.mjs"), str(page), chromium]
    command += [str(tmp_path / "good.zip"), str(tmp_path / "bad.zip")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, check=True)
    answer = json.loads(done.stdout)
    good, bad = answer["seen"]
    assert good["verdict"] == "All checks passed."
    assert good["states"] == ["passed"] * len(MEANING)
    assert SIGNER.public_key in good["about"]
    assert "- It holds <30> million litres, | they say." in good["text"]
    assert "(unsupported: a number is in none of its sources)" in good["text"]
    assert f"{NOT_FOLLOWS}: the <quote> says *less*" in good["text"]
    assert good["marked"] == ["The Aurora dam was finished in 1974"]
    # What sources say is shown as text: none of it became an element.
    assert set(good["elements"]) <= {
        *("BLOCKQUOTE", "BUTTON", "DETAILS", "DIV", "H3", "MARK", "P", "SPAN", "SUMMARY")
    }
    assert bad["verdict"] == "This proof is not valid."
    assert "failed" in bad["states"]
    assert not bad["report"]
    # Nothing but the page itself was asked for, and nothing broke its policy.
    assert answer["requests"] == [page.as_uri()]
    assert answer["complaints"] == []


def test_the_page_is_one_file_without_addresses_and_allows_only_itself():
    page = verifier_page()
    assert "%SCRIPT%" not in page
    assert re.findall(r"(?:src|href)\s*=", page) == []
    assert re.findall(r"https?://[\w.]", page) == []
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "innerHTML" not in page


def test_the_page_has_the_exporter_words():
    page = verifier_page()
    for words in [*MEANING.values(), *FINDINGS.values(), *FLAGS.values(), *ORIGINS.values()]:
        assert f'"{words}"' in page, words
    for words in (NO_ANSWER, APPENDIX, FOLLOWS, NOT_FOLLOWS, NOT_JUDGED):
        assert f'"{words}"' in page, words
    assert CLOSING.replace("claim follows", 'claim " +\n  "follows') in page
