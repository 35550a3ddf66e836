"""Every mitigation in THREAT_MODEL.md names a test, and the test exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "THREAT_MODEL.md").read_text().splitlines()
    if re.match(r"\| [A-Z]\d+ \|", line)
]


def exists(name: str) -> bool:
    path, _, function = name.partition("::")
    file = ROOT / path if path.startswith("web/") else ROOT / "tests" / path
    if not file.is_file():
        return False
    return not function or f"def {function.split('::')[-1]}(" in file.read_text()


def test_rows_are_numbered_once_and_complete():
    numbers = [row[0] for row in ROWS]
    assert len(numbers) > 40
    assert len(numbers) == len(set(numbers))
    assert [row for row in ROWS if len(row) != 6 or not all(row)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_names_a_test_that_exists(row):
    names = re.findall(r"`([^`]+)`", row[4])
    assert names
    assert [name for name in names if not exists(name)] == []
