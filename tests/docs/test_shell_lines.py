"""Shell lines in documents name commands, options and targets that exist."""

import argparse
import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest

from bathysphere.cli.main import COMMANDS, create_parser

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
SHELL = re.compile(
    r"^```(?:bash|console|sh|shell|text)\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PYTHON = re.compile(r"^```py(?:thon)?\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(bathysphere [^`\n]+|make [a-z][^`\n]*)`")
TARGETS = set(re.findall(r"^([a-z0-9_-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PARSER = create_parser(COMMANDS)
COMMAND_START = re.compile(
    r"(?:^\s*|[$(;|&]\s*|\bbin/|\b[A-Z_]+=\S*\s+)(bathysphere|make) (?=[a-z-])"
)
COMMAND_END = re.compile(r"&&|\|\||[|;&<>()…]|#|\s—")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines_of(text: str) -> list[str]:
    """Shell lines of a document: those of its blocks, joined where they go on, and inline ones."""
    blocks = "\n".join(SHELL.findall(text)).replace("\\\n", " ")
    return [*blocks.splitlines(), *INLINE.findall(text)]


def wrong_in(line: str) -> list[str]:
    """What a line names that does not exist."""
    found = []
    for start in COMMAND_START.finditer(line):
        words = COMMAND_END.split(line[start.end() :].replace("\\|", "|"), maxsplit=1)[0]
        found += _wrong_target(words) if start[1] == "make" else _wrong_command(words)
    return found


def _wrong_target(words: str) -> list[str]:
    names = [word for word in words.split() if re.fullmatch(r"[a-z][a-z0-9_-]*", word)]
    return [f"make {name}" for name in names[:1] if name not in TARGETS]


def _wrong_command(text: str) -> list[str]:
    parser, path = PARSER, "bathysphere"
    wrong = []
    words = iter(_split(text))
    for word in words:
        choices = _choices(parser)
        if word.startswith("--"):
            option, equals, _ = word.rstrip(".,").partition("=")
            action = parser._option_string_actions.get(option)
            if action is None and option != "--env-file":
                wrong.append(f"{path} {option}")
            elif action is not None and action.nargs != 0 and not equals:
                next(words, None)  # its value
        elif choices and re.fullmatch(r"[a-z]+", word) and word != "help":
            if word not in choices:
                return [f"{path} {word}"]
            parser, path = choices[word], f"{path} {word}"
    return wrong


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_shell_lines_name_what_exists(path):
    lines = lines_of(path.read_text(encoding="utf-8"))
    assert [wrong for line in lines for wrong in wrong_in(line)] == []


def test_wrong_lines_are_noticed():
    assert wrong_in("$ bathysphere swim --deep") == ["bathysphere swim"]
    assert wrong_in("bathysphere serve --port 1 --deep && make deeper") == [
        "bathysphere serve --deep",
        "make deeper",
    ]
    assert wrong_in("KEY=$(bathysphere keys create --tenants a | head -1)") == [
        "bathysphere keys create --tenants"
    ]
    assert (
        wrong_in("bathysphere keys --data-dir x create --tenant a --user b  # --not an option")
        == []
    )
    assert len([line for path in DOCUMENTS for line in lines_of(path.read_text("utf-8"))]) > 300


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_python_blocks_compile_and_import_what_exists(path):
    for source in PYTHON.findall(path.read_text(encoding="utf-8")):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bathysphere"):
                module = importlib.import_module(node.module)
                assert [a.name for a in node.names if not hasattr(module, a.name)] == []
