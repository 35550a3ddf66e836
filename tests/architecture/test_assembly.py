"""The engine's components are constructed in one place, which tests use, too.

Tests that wire the engine themselves test their own wiring: `Runs` once had its log in every test
but in no server.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = "src/bathysphere/server/process/services.py"
MADE = {
    "Runs",
    "TracedRuns",
    "Answers",
    "Threads",
    "MeasuredThreads",
    "Worker",
    "Executor",
    "ObservedExecutor",
}
FROM = ("bathysphere.engine.", "bathysphere.server.observability.")


def constructions(path: Path) -> list[str]:
    """The engine's classes that a file instantiates."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(FROM)
        for alias in node.names
    }
    return [
        known[node.func.id]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and known.get(node.func.id) in MADE
    ]


def test_each_part_of_the_engine_is_made_once_and_in_one_place():
    found = {
        path.relative_to(ROOT).as_posix(): made
        for folder in ("src", "tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (made := constructions(path))
    }
    expected = ["Answers", "MeasuredThreads", "ObservedExecutor", "TracedRuns", "Worker"]
    assert {place: sorted(made) for place, made in found.items()} == {HOME: expected}
