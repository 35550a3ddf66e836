"""`bathysphere verify`, as a person runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bathysphere.cli.main import main

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from proofs import SIGNER, proof


@pytest.fixture
def good(tmp_path) -> Path:
    path = tmp_path / "report.zip"
    path.write_bytes(proof())
    return path


def test_a_good_proof_holds(good, capsys):
    assert main(["verify", str(good)]) == 0
    out = capsys.readouterr().out
    assert "verified. 6 claims (3 marked unsupported), 7 quotes, 3 sources" in out
    assert SIGNER.public_key in out
    assert out.count("  ok ") == 9


def test_a_changed_one_does_not_and_says_where(good, capsys):
    good.write_bytes(good.read_bytes().replace(b"1974", b"1975"))
    assert main(["verify", str(good)]) == 1
    out = capsys.readouterr().out
    assert "FAILED  archive" in out
    assert "verification FAILED" in out


def test_the_key_may_be_given(good, capsys):
    assert main(["verify", str(good), "--key", SIGNER.public_key]) == 0
    assert "as expected" in capsys.readouterr().out
    assert main(["verify", str(good), "--key", "0" * 64]) == 1


def test_the_result_as_json(good, capsys):
    assert main(["verify", str(good), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["ok"] is True
    assert len(result["checks"]) == 9


def test_no_file_and_no_such_file(capsys, tmp_path):
    assert main(["verify"]) == 1
    assert main(["verify", str(tmp_path / "none.zip")]) == 2
    assert "Cannot read" in capsys.readouterr().err


def test_the_page_can_be_written(tmp_path, capsys):
    assert main(["verify", "--page", str(tmp_path / "v.html")]) == 0
    assert (tmp_path / "v.html").read_text().startswith("<!doctype html>")


ALONE = """
import socket, sys
def no(*_): raise AssertionError("a socket")
socket.socket.connect = no
from bathysphere.cli.main import main
code = main(["verify", sys.argv[1]])
heavy = {"langgraph", "langchain", "langchain_core", "deepagents", "fastapi", "httpx"}
heavy |= {"trafilatura", "reportlab"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
raise SystemExit(code)
"""


def test_it_needs_no_network_no_server_and_no_agent_stack(good):
    command = [sys.executable, "-c", ALONE, str(good)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_not_a_proof_is_called_that(tmp_path, capsys):
    essay = tmp_path / "essay.md"
    essay.write_text("# An essay\n")
    assert main(["verify", str(essay)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: Not a proof: {essay}\nhint: pass a .zip file")


def test_checks_that_were_not_made_are_not_shown_as_true(good, capsys):
    good.write_bytes(good.read_bytes().replace(b"1974", b"1975"))
    assert main(["verify", str(good)]) == 1
    out = capsys.readouterr().out
    assert out.count("not checked") == 8
    assert "each quote is in" not in out
