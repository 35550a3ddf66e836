"""Each test that `make check` leaves out names one that it runs in its place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG = "pytest.mark.long"


def _marks(node: ast.AST) -> Iterator[ast.expr]:
    """The marks of a test, or of all tests of a file, wherever they stand."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and ast.unparse(one) == LONG:
            yield one


def _is_marked(node: ast.AST) -> bool:
    return any(_marks(node))


def _shorts(tree: ast.Module) -> Iterator[str | None]:
    """What each mark names; None for a mark that names nothing."""
    calls = {id(one.func): one for one in ast.walk(tree) if isinstance(one, ast.Call)}
    for mark in _marks(tree):
        call = calls.get(id(mark))
        arguments = call.args if call else []
        is_named = len(arguments) == 1 and isinstance(arguments[0], ast.Constant)
        yield str(arguments[0].value) if is_named else None


def _runs_in_the_check(short: str) -> bool:
    path, _, name = short.partition("::")
    file = ROOT / path
    if not file.is_file():
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    of_all = [one for one in body if ast.unparse(one).startswith("pytestmark")]
    tests = {
        one.name: one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return name in tests and not any(map(_is_marked, [*of_all, *tests[name].decorator_list]))


def _wrong(files: Iterator[Path]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}: {short}"
        for file in files
        for short in _shorts(ast.parse(file.read_text(encoding="utf-8")))
        if short is None or not _runs_in_the_check(short)
    ]


def test_each_long_test_names_a_test_that_runs_in_its_place():
    files = [file for file in ROOT.glob("tests/**/*.py") if "node_modules" not in file.parts]
    assert _wrong(iter(files)) == []


@pytest.mark.parametrize(
    "mark",
    [
        "pytest.mark.long",
        "pytest.mark.long()",
        'pytest.mark.long("tests/architecture/test_long_tests.py::test_nowhere")',
        'pytest.mark.long("tests/nowhere.py::test_it")',
        'pytest.mark.long("tests/fuzz/test_tenants.py::test_planted_faults_are_found")',
    ],
)
def test_a_mark_that_names_no_such_test_is_found(mark):
    [short] = _shorts(ast.parse(f"import pytest\n@{mark}\ndef test_it(): pass\n"))
    assert short is None or not _runs_in_the_check(short)
