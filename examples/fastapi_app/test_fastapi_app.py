"""The app and the engine in one process: a ticket is answered, and is its author's alone."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def served(serve):
    return serve(HERE, BATHYSPHERE_AUTH="api-key")


def key_of(database, user):
    command = [Path(sys.executable).parent / "bathysphere", "keys", "--database-url", database]
    command += ["create", "--tenant", "school", "--user", user]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"x-api-key": made.stdout.splitlines()[0]}


async def test_a_ticket_is_answered_and_is_its_author_alone(served):
    async with httpx.AsyncClient(base_url=served.url) as http:
        assert (await http.post("/tickets", json={"text": "Hello"})).status_code == 401
        ada, bob = key_of(served.database, "ada"), key_of(served.database, "bob")
        opened = await http.post("/tickets", json={"text": "It hisses"}, headers=ada)
        assert opened.status_code == 202, opened.text
        assert opened.json()["opened_by"] == "ada"
        ticket = f"/tickets/{opened.json()['ticket']}"
        async with asyncio.timeout(20):
            while (read := (await http.get(ticket, headers=ada)).json())["answer"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert read["answer"].endswith("| It hisses")
        assert (await http.get(ticket, headers=bob)).status_code == 404
