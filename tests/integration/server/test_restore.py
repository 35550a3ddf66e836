"""The restore drill: run, back up, run on, restore. No client is silent, no run is doubled."""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from redis import Redis

sys.path.insert(0, str(Path(__file__).parent))

from open_stream import OpenStream
from test_kept_streams import ALL, api_process, client
from test_walls import RUN
from workspace_town import drop, own_database

from bathysphere.cli.main import main
from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.engine.database import dumps
from bathysphere.engine.database.dumps import back_up, restore

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
REDIS = "redis://127.0.0.1:6379/12"
ADA = {"x-user": "acme/ada"}


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


@pytest.fixture(autouse=True)
def redis():
    with Redis.from_url(REDIS) as found:
        found.flushdb()
        yield found
        found.flushdb()


@asynccontextmanager
async def served(database):
    async with api_process(database, REDIS) as app, client(app) as caller:
        yield app, caller


async def run(caller: httpx.AsyncClient, thread: str, word: str) -> None:
    body = {**RUN, "input": {"items": [word]}}
    answer = await caller.post(f"/threads/{thread}/runs/wait", json=body, headers=ADA)
    assert word in answer.text


def stream(app, thread: str, since: int) -> OpenStream:
    body = {**ALL, "since": since}
    return OpenStream(app, "POST", f"/threads/{thread}/stream/events", headers=ADA, body=body)


async def until(found: OpenStream, word: str, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while word not in found.text:  # noqa: ASYNC110  # the app's task reads the stream
            await asyncio.sleep(0.02)


def last_seq(text: str) -> int:
    return max(int(seq) for seq in re.findall(r"^id: ?(\d+)", text, re.MULTILINE))


async def drill(database, file: Path) -> tuple[str, int]:
    """Run, back up, run more, restore; return the thread and a position from after the backup."""
    async with served(database) as (app, caller):
        made = await caller.post("/threads", json={}, headers=ADA)
        thread = made.json()["thread_id"]
        await run(caller, thread, "before-the-backup")
        await asyncio.to_thread(back_up, database.url, file)
        for number in range(3):
            await run(caller, thread, f"after-the-backup-{number}")
        async with stream(app, thread, 0) as kept:
            await until(kept, "after-the-backup-2")
            position = last_seq(kept.text)
    await asyncio.to_thread(restore, database.url, file)
    return thread, position


async def test_a_client_with_an_old_position_gets_the_restored_state(database, tmp_path):
    thread, position = await drill(database, tmp_path / "backup")
    async with served(database) as (app, _), stream(app, thread, position) as found:
        await until(found, "before-the-backup")
        assert "after-the-backup" not in found.text


async def test_the_first_stream_after_a_restore_is_whole_and_no_run_is_doubled(database, tmp_path):
    thread, position = await drill(database, tmp_path / "backup")
    async with served(database) as (app, caller):
        async with stream(app, thread, 0) as fresh:
            await run(caller, thread, "after-the-restore")
            await until(fresh, '"event":"completed"')
            await until(fresh, "after-the-restore")
        async with stream(app, thread, position) as old:
            await until(old, "after-the-restore")
            assert last_seq(old.text) > position
        listed = await caller.get(f"/threads/{thread}/runs", headers=ADA)
    assert [one["status"] for one in listed.json()] == ["success", "success"]
    with psycopg.connect(database.url) as connection:
        attempts = connection.execute("SELECT attempt FROM engine.runs").fetchall()
    assert attempts == [(1,), (1,)]
    events = [line for line in fresh.text.splitlines() if line.startswith("data:")]
    statuses = [json.loads(line[5:]).get("params", {}) for line in events]
    assert len(statuses) > 3


async def test_a_worker_of_before_the_restore_holds_no_valid_token(database, tmp_path):
    def next_token() -> int:
        with psycopg.connect(database.url, autocommit=True) as connection:
            row = connection.execute("SELECT nextval('engine.attempt_tokens')").fetchone()
            return row[0]

    file = tmp_path / "backup"
    await asyncio.to_thread(back_up, database.url, file)
    before = [next_token() for _ in range(5)]
    await asyncio.to_thread(restore, database.url, file)
    assert next_token() > max(before)


async def test_the_commands_back_up_a_server_in_use_and_restore_a_stopped_one(
    database, tmp_path, capsys
):
    place, file = ["--database-url", database.url], str(tmp_path / "backup")
    async with served(database) as (_, caller):
        made = await caller.post("/threads", json={}, headers=ADA)
        assert await asyncio.to_thread(main, ["backup", file, *place]) == 0
        assert await asyncio.to_thread(main, ["backup", file, *place]) == 1  # never overwritten
        assert await asyncio.to_thread(main, ["restore", file, *place, "--yes"]) == 1
        assert "in use" in capsys.readouterr().err
        await caller.delete(f"/threads/{made.json()['thread_id']}", headers=ADA)
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0  # a local file
    assert await asyncio.to_thread(main, ["restore", file, *place]) == 1
    assert "--yes" in capsys.readouterr().err
    assert await asyncio.to_thread(main, ["restore", file, *place, "--yes"]) == 0
    assert await asyncio.to_thread(main, ["restore", "--only-mark", *place, "--yes"]) == 0
    with psycopg.connect(database.url) as connection:
        assert connection.execute("SELECT count(*) FROM engine.threads").fetchone() == (1,)
        epochs = connection.execute("SELECT epoch FROM engine.epochs ORDER BY number").fetchall()
    assert len(set(epochs)) == 3


async def test_a_restore_that_fails_changes_nothing(database, tmp_path):
    file = tmp_path / "backup"
    file.write_bytes(b"this is not a backup")
    with pytest.raises(UpstreamError, match="pg_restore failed"):
        await asyncio.to_thread(restore, database.url, file)
    file.unlink()
    await asyncio.to_thread(back_up, database.url, file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dumps, "BEGIN_EPOCH", "SELECT 1 / 0;")
        with pytest.raises(UpstreamError, match="psql failed"):
            await asyncio.to_thread(restore, database.url, file)
    with psycopg.connect(database.url) as connection:
        assert connection.execute("SELECT epoch FROM engine.epochs").fetchall() == [("",)]


def test_missing_programs_are_named(tmp_path):
    with pytest.raises(ConfigError, match="pg_dump is not installed"):
        back_up("postgresql://x", tmp_path / "backup", programs=tmp_path)
