"""Statements of every request touch few rows, however many threads the owner and the others have.

The statements are recorded on their way to PostgreSQL and explained there, as the same role. What
counts is how many rows each step of a plan has read, not how long it took.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from engine_rig import Rig, open_rig, own_database
from langchain.agents import create_agent
from psycopg import AsyncCursor

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.testing import ScriptedChatModel, says

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "scale"))

from dataset import HEAVY, Template, fill

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

THREADS = 3000
FEW = 120
"""Rows that a step may read; the owner has 300 threads and 600 messages."""
SAID = {"messages": [{"role": "user", "content": "hello"}]}
Recorded = list[tuple[str, Any]]


@pytest.fixture(scope="module")
def many_threads() -> Iterator[Database]:
    """A database with many threads, copied from one that was served."""
    with own_database() as database:
        template = asyncio.run(serve_template(database))
        fill(database.url, [Template(str(template), range(10))], threads=THREADS)
        yield database


async def serve_template(database: Database) -> UUID:
    thread = uuid4()
    async with open_rig(database) as rig:
        model = ScriptedChatModel(script=[says("Hello.")])
        rig.factories["agent"] = lambda: create_agent(model, [])
        async with rig.working():
            run = await rig.start(thread, "agent", owner=HEAVY, input=SAID, creates_thread=True)
            assert (await rig.ended(run)).status == "success"
    return thread


@pytest.fixture
async def rig(many_threads: Database) -> AsyncIterator[Rig]:
    async with open_rig(many_threads) as rig:
        rig.factories["agent"] = lambda: create_agent(ScriptedChatModel(script=[]), [])
        yield rig


@pytest.fixture
def thread(many_threads: Database) -> UUID:
    """A thread of the heavy owner's."""
    with psycopg.connect(many_threads.url) as connection:
        row: Any = connection.execute("SELECT thread_id FROM bench.threads WHERE n = 5").fetchone()
    return row[0]


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorded]:
    """Statements that are sent meanwhile."""
    found: Recorded = []
    execute = AsyncCursor.execute

    async def record(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if "set_config" not in text and text.lstrip().startswith(("SELECT", "WITH")):
            found.append((text, params))
        return await execute(self, query, params, **options)

    with monkeypatch.context() as patch:
        patch.setattr(AsyncCursor, "execute", record)
        yield found


async def read_rows(rig: Rig, statements: Recorded) -> dict[str, float]:
    """The most rows that a step of the plans has read, by what it read them from."""
    found: dict[str, float] = {}
    for query, params in statements:
        async with tenant_connection(rig.pool, HEAVY) as connection:
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode()
            row: Any = await (await connection.execute(explain, params)).fetchone()
            # Functions do not show their plans, but what they read is counted.
            scanned = await (await connection.execute(_SCANNED)).fetchall()
        found |= {f"Seq Scan {each['relname']}": each["seq_tup_read"] for each in scanned}
        for step in _steps(row["QUERY PLAN"][0]["Plan"]):
            name = f"{step['Node Type']} {step.get('Relation Name', '')}".strip()
            removed = step.get("Rows Removed by Filter", 0)
            rows = (step["Actual Rows"] + removed) * step["Actual Loops"]
            found[name] = max(rows, found.get(name, 0))
    return found


_SCANNED = """
SELECT relname, seq_tup_read FROM pg_stat_xact_user_tables WHERE schemaname IN ('engine', 'public')
"""


def _steps(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _steps(part)


async def many(rig: Rig, monkeypatch: pytest.MonkeyPatch, call: Any) -> dict[str, float]:
    """The steps that read too many rows in a call."""
    with recorded(monkeypatch) as statements:
        await call
    assert statements
    rows = await read_rows(rig, statements)
    return {name: count for name, count in rows.items() if count > FEW}


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"status": "interrupted", "limit": 3},
        {"sort_by": "updated_at", "is_ascending": True},
    ],
    ids=str,
)
async def test_a_page_of_threads_reads_little_more_than_the_page(rig, monkeypatch, filters):
    assert await many(rig, monkeypatch, rig.threads.search(owner=HEAVY, **filters)) == {}


async def test_opening_a_thread_reads_that_thread(rig, thread, monkeypatch):
    assert await many(rig, monkeypatch, rig.services.states.read(thread, owner=HEAVY)) == {}
    several = rig.services.states.read_several([thread], owner=HEAVY)
    assert await many(rig, monkeypatch, several) == {}


async def test_a_thread_that_never_ran_is_found_by_its_key(rig, monkeypatch):
    thread = uuid4()
    await rig.threads.create(thread, owner=HEAVY)
    assert await many(rig, monkeypatch, rig.services.states.read(thread, owner=HEAVY)) == {}


async def test_a_rare_word_is_found_by_the_index_and_not_among_all_messages(rig, monkeypatch):
    found = rig.services.messages.search("w4321", owner=HEAVY)
    read = await many(rig, monkeypatch, found)
    assert [name for name in read if name.startswith("Seq Scan")] == []
