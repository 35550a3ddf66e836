"""The documents are true: their Python runs, their links and the tests they name exist."""

import ast
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
RUN_ELSEWHERE = {
    "docs/testing.md",
    *(f"docs/tutorials/{n}.md" for n in ("use", "build", "operate")),
}
"""Documents whose blocks are whole files, run by a test of their own."""
NEEDS = ("API_KEY", "small model", "Ollama", "LM Studio")
"""What a block that is not run must say that it needs."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    """A piece of Python in a document; a line `#> text` says what the line before it prints."""

    path: Path
    line: int
    kind: str
    source: str

    def __str__(self) -> str:
        return f"{name_of(self.path)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return "no-run" not in self.kind

    @property
    def promised(self) -> list[str]:
        return re.findall(r"^#> ?(.*)$", self.source, re.MULTILINE)

    def run(self) -> list[str]:
        """Run the block and return the lines it printed."""
        source = "\n" * self.line + self.source  # so that a traceback has the document's lines
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(source, self.path, "exec"), {"__name__": "__main__"})
        return printed.getvalue().splitlines()


FENCE = re.compile(r"^```(py(?:thon)?\b[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    return [
        Block(path, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in FENCE.finditer(text)
    ]


BLOCKS = [
    block for path in DOCUMENTS if name_of(path) not in RUN_ELSEWHERE for block in blocks_of(path)
]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.is_run], ids=str)
def test_a_python_block_runs_and_prints_what_it_says(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = block.run()
    assert not block.promised or printed == block.promised


def test_a_block_that_is_not_run_needs_something_that_is_not_there():
    assert len(BLOCKS) >= 6
    for block in BLOCKS:
        assert block.is_run or any(need in block.source for need in NEEDS), str(block)


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_to_files_of_ours_lead_somewhere(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        aim = (path.parent / file).resolve() if file else path
        assert aim.exists(), f"{name_of(path)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", aim.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{name_of(path)} links to {target}"


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if hasattr(node, "name")}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_tests_that_a_document_names_exist(path):
    for file, test in TEST.findall(path.read_text(encoding="utf-8")):
        assert (ROOT / file).is_file(), f"{name_of(path)} names {file}"
        assert not test or test in names_in(file), f"{name_of(path)} names {file}::{test}"


def test_every_document_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md"):
        place = path.relative_to(ROOT / "docs").as_posix()
        assert place == "README.md" or f"({place})" in index, place
