"""Strangers at a served deployment: refused before their body is read or their key is looked up."""

import asyncio
import socket
import time
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from bathysphere.server.process.settings import ServerSettings

pytestmark = pytest.mark.services
BROKEN = b'{"broken": '


@pytest.fixture
def served(command, edge_database) -> str:
    return command("serve", "--database-url", edge_database.url, BATHYSPHERE_AUTH="api-key").url()


def lookups(database) -> int:
    with psycopg.connect(database.url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables"
            " WHERE schemaname = 'identity' AND relname = 'api_keys'"
        ).fetchone()
    return int(row[0])


def test_broken_json_without_a_credential_is_401(served):
    for path in ("/threads", "/runs/batch", "/threads/search", "/store/items"):
        method = "PUT" if path == "/store/items" else "POST"
        refused = httpx.request(method, f"{served}{path}", content=BROKEN)
        assert refused.status_code == 401, path
        assert refused.json()["error"] == "unauthenticated"
    assert httpx.get(f"{served}/openapi.json").status_code == 401
    assert httpx.get(f"{served}/info").status_code == 200


def test_a_large_body_without_a_credential_is_not_read(served):
    url = urlsplit(served)
    head = (
        f"POST /threads HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {10 * 1024 * 1024}\r\n\r\n"
    )
    with socket.create_connection((url.hostname, url.port), timeout=10) as link:
        link.sendall(head.encode() + b" " * 1000)
        answer = b""
        while chunk := link.recv(65536):  # the server closes with most of the body not yet sent
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 401")


async def test_made_up_keys_cause_few_lookups(served, edge_database):
    await asyncio.sleep(1)  # statistics of what came before arrive late
    before = lookups(edge_database)
    began = time.monotonic()
    async with httpx.AsyncClient(base_url=served, timeout=60) as client:

        async def ask(number: int) -> int:
            key = f"bsk_{number:012x}_{'A' * 43}"
            answer = await client.get("/threads/search", headers={"x-api-key": key})
            return answer.status_code

        statuses = await asyncio.gather(*map(ask, range(500)))
    limits = ServerSettings()
    allowed = limits.guess_burst + limits.guesses_per_second * (time.monotonic() - began)
    await asyncio.sleep(2)
    assert set(statuses) == {401, 429}
    assert 0 < statuses.count(401) <= allowed
    # One scan to find the key, one to note its use.
    assert lookups(edge_database) - before <= 2 * allowed


def test_a_batch_costs_as_much_as_its_runs(command, edge_database):
    """Otherwise two requests within the limit queue 200 runs."""
    at = ("--database-url", edge_database.url)
    made = command("keys", *at, "create", "--tenant", "batches", "--user", "ada").output()
    limits = {"BATHYSPHERE_RATE_PER_SECOND": "1", "BATHYSPHERE_RATE_BURST": "20"}
    served = command("serve", *at, BATHYSPHERE_AUTH="api-key", **limits).url()
    run = {"assistant_id": "unknown"}
    with httpx.Client(base_url=served, headers={"x-api-key": made.splitlines()[0]}) as client:
        assert client.post("/runs/batch", json=[run] * 3).status_code == 404
        refused = client.post("/runs/batch", json=[run] * 30)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
