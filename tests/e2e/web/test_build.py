"""The build: what a first visit transfers, and the app's own tests."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src" / "bathysphere" / "server" / "static"
FIRST_LOAD_BYTES = 130_000


def test_the_first_load_is_small():
    told = json.loads((STATIC / "first-load.json").read_text())
    assert 10_000 < told["bytes"] <= FIRST_LOAD_BYTES, told


LAZY = {
    "Markdown": "markedjs/marked",
    "KaTeX": "KaTeX parse error",
    "colours of code": "`tok ${",
    "grammars": "Invalid top rule name",
    "Mermaid": "sequenceDiagram",
    "the frame of diagrams": "diagram-frame",
    "the editor": "cm-editor",
    "PDF": "GlobalWorkerOptions",
    "DOCX": "mammoth",
}
"""What is loaded when it is needed, each by words that only its files have."""


@pytest.mark.parametrize("name", LAZY)
def test_the_first_load_has_nothing_of_what_is_needed_later(name):
    first = set(json.loads((STATIC / "first-load.json").read_text())["sizes"])
    scripts = {f"assets/{file.name}": file.read_text() for file in STATIC.glob("assets/*.js")}
    holders = {path for path, code in scripts.items() if LAZY[name] in code}
    assert holders, f"the words for {name} are out of date"
    assert not holders & first


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere():
    page = (STATIC / "index.html").read_text()
    assert "<style" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("<script") == page.count('<script type="module" crossorigin src="/assets/')


@pytest.mark.node
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", ["types", "lint:scripts", "test"])
def test_the_web_checks_pass(command):
    _run(command)


@pytest.mark.node
@pytest.mark.timeout(600)  # the linter reads all types anew for each component
@pytest.mark.long("tests/e2e/web/test_build.py::test_the_web_checks_pass")
def test_the_components_are_linted():
    _run("lint:components")


def _run(command):
    done = subprocess.run(
        ["npm", "run", "--silent", "--prefix", str(ROOT / "web"), command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
