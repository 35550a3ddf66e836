"""Phrases and module names that CONTRIBUTING.md ("Write plainly") replaces do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PHRASES = {
    r"anew": "again",
    r"belongs? into": "put in",
    r"brings? the database to": "migrate",
    r"is away": "is unavailable",
    r"is no JSON": "is not JSON",
    r"unless told": "by default",
    r"one (capability|file|folder|question|storage) an? (agent|call|command|file)": "per",
}
"""Pattern → what to write instead, in code, interface and documents."""
IN_DOCUMENTS = {
    r"held by `": "enforced by",
}
"""The same, in documents, the Makefile and deployment files only."""
IN_INTERFACE = {
    r"carry it out": "Run plan",
    r"your word": "Approval",
    r"take it with you": "Export",
    r"as the system": "Match system",
    r"may be left out": "optional",
    r"who answers": "Agent",
    r"for good": "permanently",
    r"waits for you": "needs your input",
    r"stand by": "agree with",
}
"""The same, in what the browser app shows and in the stories that read it."""
MODULES = {
    *("asking", "following", "given", "holding", "keeping", "reaching", "said", "serving", "shown"),
    *("starting", "told", "common", "helpers", "misc", "parts", "utils"),
}
"""Module names that do not say what is inside: participles and drawers."""
DOCUMENTS = [
    *(path for path in ROOT.glob("*.md") if path.name not in {"ARCHITECTURE.md", "CHANGELOG.md"}),
    ROOT / "Makefile",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "scripts").glob("*.sh"),
    *(path for path in (ROOT / "deploy").rglob("*") if path.is_file()),
]
TEXTS = [
    *DOCUMENTS,
    ROOT / "ARCHITECTURE.md",
    ROOT / "CHANGELOG.md",
    *(path for kind in ("py", "md", "html", "sql") for path in (ROOT / "src").rglob(f"*.{kind}")),
    *(path for kind in ("ts", "svelte") for path in (ROOT / "web" / "src").rglob(f"*.{kind}")),
]
INTERFACE = [
    *(path for kind in ("ts", "svelte") for path in (ROOT / "web" / "src").rglob(f"*.{kind}")),
    *(ROOT / "web" / "stories").glob("*.mjs"),
]
BUILT = ROOT / "src" / "bathysphere" / "server" / "static"


def hits(pattern: str, text: str) -> list[int]:
    """The lines of a text in which a phrase begins; a line break counts as a space."""
    phrase = re.compile(rf"\b{pattern}(?!\w)".replace(" ", r"[\s*#>/]+"), re.IGNORECASE)
    return [text.count("\n", 0, found.start()) + 1 for found in phrase.finditer(text)]


def uses(pattern: str, paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        if BUILT not in path.parents
        for line in hits(pattern, path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("pattern", PHRASES)
def test_a_forbidden_phrase_is_not_used(pattern):
    assert len(TEXTS) > 500
    assert uses(pattern, TEXTS) == [], f'write "{PHRASES[pattern]}"'


@pytest.mark.parametrize("pattern", IN_DOCUMENTS)
def test_a_phrase_forbidden_in_documents_is_not_used(pattern):
    assert len(DOCUMENTS) > 60
    assert uses(pattern, DOCUMENTS) == [], f'write "{IN_DOCUMENTS[pattern]}"'


@pytest.mark.parametrize("pattern", IN_INTERFACE)
def test_a_phrase_forbidden_in_the_interface_is_not_used(pattern):
    assert len(INTERFACE) > 150
    assert uses(pattern, INTERFACE) == [], f'write "{IN_INTERFACE[pattern]}"'


def test_a_phrase_is_found_across_lines_and_comments():
    assert hits(r"unless told", "# It waits unless\n    # told.\nUnless told, no.") == [1, 3]
    assert hits(r"unless told", "unless toldest") == []


def test_modules_are_named_by_what_they_contain():
    package = ROOT / "src" / "bathysphere"
    found = [path for path in package.rglob("*") if path.stem.lstrip("_") in MODULES]
    assert [path.relative_to(ROOT).as_posix() for path in found] == []
