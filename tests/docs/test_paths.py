"""Every file, folder and module that a document names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PACKAGE = ROOT / "src" / "bathysphere"
BASES = (ROOT, PACKAGE, PACKAGE / "server", ROOT / "tests", ROOT / "web")
"""Where a path in a document may start."""
FOLDERS = "src|web|tests|benchmarks|scripts|deploy|examples"
PATH = re.compile(
    rf"(?<![\w/.<>{{:-])((?:{FOLDERS})/[\w./-]*\w|(?:[\w-]+/)*[\w-]+\.py)(?![\w<{{*/-])"
)
MODULE = re.compile(r"(?<![\w/.])bathysphere(?:\.[a-z_]+)+\b")
NOT_COMMITTED = {
    "src/bathysphere/server/static": "built by `make web`",
    "src/bathysphere/server/help": "built by `make docs`",
    "web/weights": "fetched by the build of the browser app",
    "web/node_modules": "fetched by `make setup`",
    "tests/test_weather.py": "an example in docs/testing.md",
    "tests/test_trouble.py": "an example in docs/testing.md",
    "tests/test_frail.py": "an example in docs/testing.md",
    "tests/test_wire.py": "an example in docs/testing.md",
    "tests/test_real_model.py": "an example in docs/testing.md",
    "my_agent.py": "an example of a file of the reader's",
    "agents/diver/tools.py": "an example in docs/tutorials/build.md",
    "agents/diver/tests/test_diver.py": "an example in docs/tutorials/build.md",
    "tools.py": "a file of an agent folder",
    "file.py": "the form of a target",
    "path/file.py": "the form of a target",
}
NAMES = {
    path.name
    for folder in ("src", "tests", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*.py")
}


def is_there(path: str) -> bool:
    if path in NOT_COMMITTED or ("/" not in path and path in NAMES):
        return True
    return any((base / path).exists() for base in BASES)


def is_importable(name: str) -> bool:
    """Whether a dotted name is a module, or a name in one."""
    module = ROOT / "src" / name.replace(".", "/")
    if module.is_dir() or module.with_suffix(".py").is_file():
        return True
    package = module.parent / "__init__.py"
    file = package if package.is_file() else module.parent.with_suffix(".py")
    return file.is_file() and re.search(rf"\b{module.name}\b", file.read_text()) is not None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_path_that_a_document_names_exists(document):
    text = document.read_text(encoding="utf-8")
    missing = [path for path in PATH.findall(text) if not is_there(path)]
    missing += [name for name in MODULE.findall(text) if not is_importable(name)]
    assert missing == []


def test_moved_and_misspelled_paths_are_noticed():
    assert PATH.findall("`engine/holding.py` and src/bathysphere/gone") == [
        "engine/holding.py",
        "src/bathysphere/gone",
    ]
    assert not is_there("engine/holding.py")
    assert not is_there("gone_module.py")
    assert is_there("engine/threads.py")
    assert not is_importable("bathysphere.engine.holding")
    assert is_importable("bathysphere.engine.threads")
