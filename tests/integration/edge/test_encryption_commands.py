"""Encryption with the real commands: serve, status, rotate, backup and restore."""

import asyncio
import base64
import secrets
import signal
import sys
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from bathysphere.cli.main import main
from bathysphere.engine.database.pool import Database
from bathysphere.server.process.database import migrate_database
from bathysphere.testing.postgres import temporary_database

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from planted_thread import hits

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]
PROJECT = """
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    word: str
    parts: list[str]

def say(state):
    return {"parts": [state["word"]]}

graph = StateGraph(State).add_node("say", say).add_edge(START, "say").compile()
"""


def key(key_id: str) -> str:
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


@pytest.fixture
def database():
    with temporary_database("encrypted") as url:
        found = Database(url=url)
        asyncio.run(migrate_database(found))
        yield found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "agent.py").write_text(PROJECT)
    return tmp_path


def cli(monkeypatch, database, *words: str, keys: str | None = None) -> int:
    """A command in this process, with these keys in its settings."""
    name = "BATHYSPHERE_ENCRYPTION_KEYS"
    monkeypatch.setenv(name, keys) if keys else monkeypatch.delenv(name, raising=False)
    return main([words[0], "--database-url", database.url, *words[1:]])


def stop(server) -> None:
    server.send(signal.SIGTERM)
    server.ended(60)


async def run(url: str, word: str) -> str:
    async with get_client(url=url) as client:
        found = await client.assistants.search(limit=100)
        (own,) = (each["assistant_id"] for each in found if each["metadata"].get("default"))
        thread = await client.threads.create()
        values = await client.runs.wait(thread["thread_id"], own, input={"word": word})
        assert values["parts"] == [word]
        return thread["thread_id"]


async def state(url: str, thread: str) -> dict:
    async with get_client(url=url) as client:
        return (await client.threads.get_state(thread))["values"]


def test_a_server_encrypts_rotates_and_is_restored(command, database, folder, monkeypatch, capsys):
    word, old, new = f"canary{secrets.token_hex(12)}", key("old"), key("new")
    serve = ("serve", "./agent.py:graph", "--database-url", database.url, "--port", "0")
    (folder / "keys").write_text(f"{old}\n")
    server = command(*serve, folder=folder, BATHYSPHERE_ENCRYPTION_KEYS_FILE=str(folder / "keys"))
    thread = asyncio.run(run(server.url(), word))
    stop(server)
    assert hits(database, word) == []

    assert cli(monkeypatch, database, "backup", str(folder / "dump")) == 0
    assert "useless: old" in capsys.readouterr().out
    assert cli(monkeypatch, database, "encryption", "rotate", keys=f"{new},{old}") == 0
    assert "Nothing needs key 'old' any more" in capsys.readouterr().out
    assert cli(monkeypatch, database, "encryption", "status", keys=new) == 0
    told = capsys.readouterr().out
    assert "new" in told
    assert "old" not in told

    server = command(*serve, folder=folder, BATHYSPHERE_ENCRYPTION_KEYS=new)
    assert asyncio.run(state(server.url(), thread))["word"] == word
    stop(server)

    restore = ("restore", str(folder / "dump"), "--yes")
    assert cli(monkeypatch, database, *restore, keys=new) == 1
    told = capsys.readouterr()
    assert "Restored" in told.out
    assert "Encryption key 'old' is missing" in told.err
    for keys in ({}, {"BATHYSPHERE_ENCRYPTION_KEYS": new}):
        refused = command(*serve, folder=folder, **keys)
        assert refused.ended(60) != 0
        assert "Encryption key 'old' is missing" in "".join(refused.errors)
    assert cli(monkeypatch, database, *restore, keys=old) == 0
    server = command(*serve, folder=folder, BATHYSPHERE_ENCRYPTION_KEYS=old)
    assert asyncio.run(state(server.url(), thread))["word"] == word
    stop(server)


def test_a_new_key_can_be_used_and_a_bad_id_is_refused(capsys):
    from bathysphere.engine.encryption.keys import MasterKeys

    assert main(["encryption", "new-key", "2026-11"]) == 0
    assert MasterKeys.parse(capsys.readouterr().out).writer.key_id == "2026-11"
    assert main(["encryption", "new-key", "No Good"]) == 1


def test_rotation_needs_keys(database, monkeypatch, capsys):
    assert cli(monkeypatch, database, "encryption", "rotate") == 1
    assert "BATHYSPHERE_ENCRYPTION_KEYS" in capsys.readouterr().err
