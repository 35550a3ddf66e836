"""Two versions run side by side during an upgrade: neither may break on what the other added.

A prepared `SELECT *` fails as soon as a migration adds a column. A migration may only add
("expand"); what the last release still reads is removed one release later ("contract").
"""

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "bathysphere"
MIGRATIONS = sorted(SRC.glob("*/migrations/*.sql"))
WILDCARDS = re.compile(r"\bSELECT \*|\bRETURNING \*|\b\w+\.\*(?!\*)")
INSIDE_A_WITH = {
    ("payments/ledger/audit.py", "SELECT deposit.*, deposit.status IN"),
    ("payments/ledger/audit.py", "SELECT * FROM payments.swaps WHERE"),
    ("payments/ledger/audit.py", "SELECT vault.*, taken.y IS NOT NULL"),
    ("payments/ledger/audit.py", "SELECT * FROM wrong WHERE difference"),
    ("payments/ledger/swaps.py", "SELECT taken.*, deposit.session_id,"),
    ("engine/assistants.py", "SELECT * FROM ("),
}
"""Their result has the same columns whatever is added to a table."""
REMOVES = re.compile(
    r"\bDROP (?:COLUMN|TABLE|SCHEMA|FUNCTION)\b|\bRENAME\b|\bALTER COLUMN \w+ (?:SET DATA )?TYPE\b"
    r"|\bSET NOT NULL\b|\bADD COLUMN (?!IF NOT EXISTS)\w+ [^,;]*NOT NULL(?![^,;]*DEFAULT)",
    re.IGNORECASE,
)


def statements(path: Path) -> list[str]:
    """The constants of a module that are SQL."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if re.search(r"\b(SELECT|RETURNING)\b", text):
                found.append(text)
    return found


def wildcards(path: Path) -> list[str]:
    place = path.relative_to(SRC).as_posix()
    allowed = [words for where, words in INSIDE_A_WITH if where == place]
    found = []
    for text in statements(path):
        flat = " ".join(text.split())
        for match in WILDCARDS.finditer(flat):
            if not any(words in flat for words in allowed):
                found.append(f"{place}: {flat[max(0, match.start() - 20) :][:80]}")
    return found


def test_statements_name_their_columns():
    assert [found for path in sorted(SRC.rglob("*.py")) for found in wildcards(path)] == []


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: path.name)
def test_a_migration_only_adds(path: Path):
    script = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
    assert REMOVES.findall(script) == []


@pytest.mark.parametrize(
    "script",
    [
        "ALTER TABLE engine.runs DROP COLUMN note;",
        "ALTER TABLE engine.runs RENAME COLUMN note TO remark;",
        "ALTER TABLE engine.runs ALTER COLUMN seq TYPE integer;",
        "ALTER TABLE engine.runs ADD COLUMN note text NOT NULL;",
        "ALTER TABLE engine.runs ALTER COLUMN note SET NOT NULL;",
        "DROP FUNCTION payments.charge;",
    ],
)
def test_what_an_older_process_would_miss_is_recognized(script: str):
    assert REMOVES.search(script)


def test_adding_is_not_called_removing():
    assert not REMOVES.search("ALTER TABLE engine.runs ADD COLUMN n integer NOT NULL DEFAULT 0;")


@pytest.mark.parametrize(
    "path", [path for path in MIGRATIONS if path.name >= "0450"], ids=lambda path: path.name
)
def test_a_new_index_of_an_old_table_is_built_online(path: Path):
    script = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
    made = set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?([\w.]+)", script))
    blocking = re.findall(r"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\w[^;]*? ON ([\w.]+)", script)
    assert set(blocking) - made == set()
