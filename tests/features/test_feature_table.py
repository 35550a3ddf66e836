"""The feature tables are true: every feature of a seed has a row, every row a test that exists."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = [ROOT / "docs" / name for name in ("features.md", "seed-000.md")]
SEEDS = tomllib.loads((Path(__file__).parent / "seeds.toml").read_text(encoding="utf-8"))
COLUMNS = ["feature", "seed", "here", "enforced by", "note"]
SMALLEST = {"seed_000": 53, "seed_001": 117, "seed_002": 85, "seed_003": 33, "seed_004": 58}
"""How many features each list has at least: a list may grow, it may not shrink."""


def rows(text: str) -> list[dict[str, str]]:
    """The rows of every table, by column."""
    found = []
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if cells != COLUMNS and set("".join(cells)) != {"-"}:
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def feature(row: dict[str, str]) -> str:
    return row["feature"].split("`")[1]


def held_by(row: dict[str, str]) -> list[str]:
    return re.findall(r"`([^`]+::[^`]+)`", row["enforced by"])


@cache
def names_in(path: str) -> frozenset[str]:
    if not (ROOT / path).is_file():
        return frozenset()
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def problems(text: str) -> list[str]:
    """What is wrong with a feature table, one sentence each."""
    wrong, listed = [], rows(text)
    names = [feature(row) for row in listed]
    wrong += [f"{name} has two rows" for name in set(names) if names.count(name) > 1]
    for row in listed:
        if not held_by(row):
            wrong.append(f"{feature(row)} has no test")
        for test in held_by(row):
            path, _, name = test.partition("::")
            if name not in names_in(path):
                wrong.append(f"{feature(row)}: there is no {test}")
    for seed, features in SEEDS.items():
        number = seed.removeprefix("seed_")
        told = {feature(row) for row in listed if number in row["seed"].split(", ")}
        wrong += [f"{name} of seed {number} has no row" for name in features if name not in told]
        wrong += [f"{name} is not a feature of seed {number}" for name in told - set(features)]
    return wrong


@pytest.fixture(scope="module")
def table() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in TABLES)


def test_every_feature_has_a_row_and_every_row_a_test(table):
    assert problems(table) == []


def test_the_lists_of_the_seeds_do_not_shrink():
    for seed, smallest in SMALLEST.items():
        assert len(set(SEEDS[seed])) == len(SEEDS[seed]) >= smallest


def test_a_row_without_a_test_is_noticed(table):
    line = next(line for line in table.splitlines() if line.startswith("| `planning.state`"))
    cells = line.split(" | ")
    cells[3] = "by hand"
    assert problems(table.replace(line, " | ".join(cells))) == ["planning.state has no test"]


def test_a_test_that_does_not_exist_is_noticed(table):
    gone = table.replace("::test_a_plan_lives_on_in", "::test_a_plan_dies_in", 1)
    [problem] = problems(gone)
    assert problem.startswith("planning.state: there is no tests/features/test_planning.py::")


def test_a_row_that_is_gone_is_noticed(table):
    kept = [line for line in table.splitlines() if not line.startswith("| `planning.state`")]
    assert problems("\n".join(kept)) == [
        "planning.state of seed 001 has no row",
        "planning.state of seed 004 has no row",
    ]
