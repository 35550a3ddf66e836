"""Items of the store: found by meaning, each owner's alone, and gone at their time."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph.store.base import ensure_embeddings

from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.core.writers import RESERVED_NAMESPACE
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.database.embedded import embedded_postgres
from bathysphere.engine.database.item_store import ItemIndex, StoreOptions
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.expiry import item_sweep, thread_sweep
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.services import Services, open_services

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
WORDS = ("boat", "sail", "bread", "oven")
ALICE = Owner(tenant="acme", user="alice")


def embed(texts: list[str]) -> list[list[float]]:
    """Boats and sails are alike, and so are bread and ovens."""
    if any("unreadable" in text for text in texts):
        raise RuntimeError("the provider is down")
    found = [[float(word in text) for word in WORDS] for text in texts]
    near = [[a + b / 2, b + a / 2, c + d / 2, d + c / 2] for a, b, c, d in found]
    return [[x / (math.hypot(*row) or 1) for x in row] for row in near]


def options(**changes: Any) -> StoreOptions:
    index = ItemIndex(embeddings=ensure_embeddings(embed), dims=4, fields=("text",))
    return StoreOptions(**{"index": index, **changes})


@asynccontextmanager
async def serving(
    database: Database, store: StoreOptions | None
) -> AsyncIterator[tuple[Services, Any]]:
    async def identify(connection) -> Owner:
        tenant, user = connection.headers["x-user"].split("/")
        return Owner(tenant=tenant, user=user)

    async with open_services(database=database, graphs=Graphs({}), store=store) as services:
        app = create_app(services=services, identify=identify)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

            async def call(method: str, path: str, body: Any, user: str = "acme/alice") -> Any:
                return await client.request(method, path, json=body, headers={"x-user": user})

            yield services, call


def item(key: str, text: str, **more: Any) -> dict[str, Any]:
    return {"namespace": ["notes"], "key": key, "value": {"text": text}, **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("embedded")


def test_items_are_found_by_meaning_by_their_owner_alone(folder):
    async def scenario() -> None:
        async with embedded_postgres(folder) as database:
            await migrate(database)
            async with serving(database, options()) as (services, call):
                for key, text in (("a", "a boat"), ("b", "the oven")):
                    assert (await call("PUT", "/store/items", item(key, text))).status_code == 204
                hidden = item("c", "a boat and a sail", index=False)
                assert (await call("PUT", "/store/items", hidden)).status_code == 204
                for user in ("acme/bob", "globex/alice", "acme/alice2"):
                    for number in range(30):
                        theirs = item(str(number), "a sail", namespace=["notes"])
                        await call("PUT", "/store/items", theirs, user)
                query = {"namespace_prefix": ["notes"], "query": "sail", "limit": 10}
                found = (await call("POST", "/store/items/search", query)).json()["items"]
                # The others' items are nearer and many more; they neither show nor push ours out.
                assert [one["key"] for one in found] == ["a", "b"]
                assert found[0]["score"] > found[1]["score"]
                everything = {"namespace_prefix": [], "query": "sail"}
                found = (await call("POST", "/store/items/search", everything)).json()["items"]
                assert [one["key"] for one in found] == ["a", "b"]
                nobody = await call("POST", "/store/items/search", query, "acme/carol")
                assert nobody.json()["items"] == []
                async with tenant_connection(services.pool, ALICE) as connection:
                    rows = await connection.execute("SELECT DISTINCT prefix FROM store_vectors")
                    seen = [row["prefix"] for row in await rows.fetchall()]
                assert seen == ["owners.acme.alice.notes"]
                failed = await call("PUT", "/store/items", item("d", "unreadable"))
                assert (failed.status_code, failed.json()["error"]) == (503, "embedding_failed")

    asyncio.run(scenario())


def test_vectors_of_another_length_are_refused_at_the_start(folder):
    async def scenario() -> None:
        async with embedded_postgres(folder) as database:
            await migrate(database)
            async with serving(database, options()):
                pass
            index = ItemIndex(embeddings=ensure_embeddings(embed), dims=5)
            with pytest.raises(ConfigError, match=r"store\.index\.dims"):
                async with serving(database, options(index=index)):
                    pass

    asyncio.run(scenario())


def test_a_database_without_the_extension_is_named_at_the_start(database):
    async def scenario() -> None:
        async with open_services(database=database, graphs=Graphs({}), store=options()):
            pass

    with pytest.raises(ConfigError, match="pgvector") as refused:
        asyncio.run(scenario())
    assert "CREATE EXTENSION" in (refused.value.hint or "")


def test_without_an_index_a_query_is_an_error(database):
    async def scenario() -> None:
        async with serving(database, None) as (_, call):
            refused = await call("POST", "/store/items/search", {"query": "sail"})
            assert (refused.status_code, refused.json()["error"]) == (422, "not_supported")
            refused = await call("PUT", "/store/items", item("a", "x", ttl=5))
            assert (refused.status_code, refused.json()["error"]) == (422, "not_supported")

    asyncio.run(scenario())


def test_items_expire_and_the_engines_own_stay(database):
    async def scenario() -> None:
        ttl = {"default_ttl": 60.0, "refresh_on_read": True, "omit_expired": True}
        store = StoreOptions(ttl=ttl)
        async with serving(database, store) as (services, call):
            await call("PUT", "/store/items", item("default", "x"))
            await call("PUT", "/store/items", item("short", "x", ttl=1))
            own = OwnedStore(services.store, ALICE)
            await own.aput((RESERVED_NAMESPACE, "sources"), "kept", {"text": "x"})
            assert (await call("GET", "/store/items?namespace=notes&key=short", None)).is_success
            await _age(services, minutes=5)
            gone = await call("GET", "/store/items?namespace=notes&key=short", None)
            assert gone.status_code == 404  # before any sweep
            assert (await call("GET", "/store/items?namespace=notes&key=default", None)).is_success
            assert await item_sweep(services.pool)() == 1
            await _age(services, minutes=61)
            assert await item_sweep(services.pool)() == 1
            assert await own.aget((RESERVED_NAMESPACE, "sources"), "kept") is not None

    asyncio.run(scenario())


async def _age(services: Services, *, minutes: int) -> None:
    async with services.pool.connection() as connection:
        await connection.execute(
            "UPDATE store SET expires_at = expires_at - make_interval(mins => %s)", (minutes,)
        )


def test_threads_expire_after_their_last_use(database):
    async def scenario() -> None:
        async with serving(database, None) as (services, call):
            names = {}
            for name in ("old", "used", "busy"):
                names[name] = (await call("POST", "/threads", {})).json()["thread_id"]
            async with services.pool.connection() as connection:
                await connection.execute(
                    "UPDATE engine.threads SET updated_at = now() - interval '61 minutes',"
                    " status = CASE thread_id WHEN %s THEN 'busy' ELSE status END"
                    " WHERE thread_id = ANY(%s)",
                    (names["busy"], [names["old"], names["busy"]]),
                )
            assert await thread_sweep(services.threads, minutes=60)() == 1
            found = (await call("POST", "/threads/search", {})).json()
            assert {one["thread_id"] for one in found} == {names["used"], names["busy"]}

    asyncio.run(scenario())
