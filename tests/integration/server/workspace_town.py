"""A server with a worker, the workspace agent with scripted models, and a bucket."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from serving import make_worker

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.workspace import spec
from bathysphere.backends.object_store import open_bucket
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.server.app import create_app
from bathysphere.server.identity.identify import Unauthenticated
from bathysphere.server.process.services import Services, open_services
from bathysphere.server.research.service import ResearchService
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tenancy.directory import Directory, Tenant
from bathysphere.tenancy.quota import Quota
from bathysphere.testing import ScriptedChatModel, calls, says

POSTGRES = "postgresql://root@127.0.0.1:5432"
DIRECTORY = Directory(
    tenants={
        "acme": Tenant(
            workspaces={"main": None, "board": frozenset({"ada"})},
            quota=Quota(objects=400, runs=40),
        ),
        "zenith": Tenant(),
    }
)


def own_database() -> Database:
    """A database of its own; `drop` it."""
    name = f"workspace_{secrets.token_hex(6)}"
    with psycopg.connect(f"{POSTGRES}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    database = Database(url=f"{POSTGRES}/{name}")
    asyncio.run(migrate(database))
    return database


def drop(database: Database) -> None:
    name = database.url.rpartition("/")[2]
    with psycopg.connect(f"{POSTGRES}/test", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def identify(connection: Any) -> Owner:
    """`x-user: tenant/user`; nobody without it."""
    name = connection.headers.get("x-user", "")
    tenant, _, user = name.partition("/")
    if not tenant or not user:
        raise Unauthenticated("who are you?")
    return Owner(tenant=tenant, user=user)


def lead(messages: list[Any]) -> Any:
    """Sends the specialist out with the person's words, then repeats what it brought back."""
    last = messages[-1]
    if last.type == "tool":
        return says(f"Done: {last.text}")
    return calls("task", subagent_type="files", description=last.text)


def specialist(messages: list[Any]) -> Any:
    """Does what the task says: `tool {json}`; then answers with the result."""
    import json

    last = messages[-1]
    if last.type == "tool":
        return says(f"Result: {last.text}")
    name, _, args = last.text.partition(" ")
    return calls(name, **json.loads(args)) if args else says("Nothing to do.")


class Town:
    """A way to come to the server as somebody."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.bucket = services.workspaces.bucket
        desk = ResearchService(models=ModelSettings.model_construct(), research=ResearchConfig())
        app = create_app(services=services, identify=identify, heartbeat_seconds=0.5, research=desk)
        self.app = app
        transport = httpx.ASGITransport(app=app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=30)

    async def call(
        self, user: str | None, method: str, path: str, **request: Any
    ) -> httpx.Response:
        headers = {"x-user": user} if user else {}
        headers |= request.pop("headers", {})
        return await self.client.request(method, path, headers=headers, **request)

    async def agent(self, user: str | None, **body: Any) -> httpx.Response:
        return await self.call(user, "POST", "/api/agent", json=body)

    async def ask(self, user: str, words: str, **body: Any) -> dict[str, Any]:
        """Give the agent words; the answer must be a success."""
        messages = [{"role": "user", "content": words}]
        answer = await self.agent(user, messages=messages, **body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def text(self, key: str) -> str | None:
        got = self.bucket.get(key)
        return got.data.decode() if got else None


@asynccontextmanager
async def open_town(
    database: Database,
    bucket_config: Any,
    extra: dict[str, Callable[[], Any]] | None = None,
    *,
    is_charged: bool = True,
    **options: Any,
) -> AsyncIterator[Town]:
    """Not charged: there are accounts, but runs go on without money in them."""
    workspaces = Workspaces(directory=DIRECTORY, bucket=open_bucket(bucket_config))
    main, fast = ScriptedChatModel(answer=lead), ScriptedChatModel(answer=specialist)
    models = Models(main=main, subagent=fast, summary=main, audit=main)

    def graph() -> Any:
        return build(spec(models=models, backend=workspaces.agent_files()))

    graphs = Graphs({"workspace": graph, **(extra or {})})
    async with open_services(
        database=database, graphs=graphs, workspaces=workspaces, **options
    ) as services:
        worker = await make_worker(services if is_charged else replace(services, payments=None))
        working = asyncio.create_task(worker.run())
        town = Town(services)
        try:
            yield town
        finally:
            await town.client.aclose()
            await town.app.state.mcp.aclose()
            worker.drain()
            await working
