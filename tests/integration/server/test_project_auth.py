"""A project's `Auth` object on our server: who callers are, what handlers refuse and filter."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypedDict
from uuid import uuid4

import httpx
import pytest
from langgraph.graph import START, StateGraph
from langgraph_sdk import Auth

from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.services import open_services
from bathysphere.server.project_auth.authenticate import ProjectIdentity
from bathysphere.server.project_auth.authorize import ProjectAuthorization

pytestmark = pytest.mark.services
RUN = {"assistant_id": "plain", "input": {"text": "x"}}
CRON = {**RUN, "schedule": "0 0 1 1 *"}
USERS = {
    "alice": {"identity": "alice", "tenant": "acme", "permissions": ["threads:delete"]},
    "ally": {"identity": "alice", "tenant": "globex"},
    "bob": {"identity": "bob", "tenant": "acme"},
}


class State(TypedDict, total=False):
    text: str


def graph(**bound: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"text": "y"})
    builder.add_edge(START, "node")
    return builder.compile(**bound)


def new_auth() -> Auth:
    auth = Auth()

    @auth.authenticate
    async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
        user = USERS.get((authorization or "").removeprefix("Bearer "))
        if user is None:
            raise Auth.exceptions.HTTPException(status_code=401, detail="Who are you?")
        return user

    return auth


def owner_auth() -> Auth:
    """The handler of LangGraph's guide: stamp what is created, filter what is read."""
    auth = new_auth()

    @auth.on
    async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
        value.setdefault("metadata", {})["owner"] = ctx.user.identity
        return {"owner": ctx.user.identity}

    @auth.on.store
    async def scope(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        value["namespace"] = (ctx.user.identity, *(value.get("namespace") or ()))

    return auth


class Caller:
    """Requests of one caller."""

    def __init__(self, client: httpx.AsyncClient, name: str) -> None:
        self._client = client
        self._headers = {"authorization": f"Bearer {name}"}

    async def __call__(
        self, method: str, path: str, json: Any = None, *, content: bytes | None = None
    ) -> httpx.Response:
        body = {"json": json} if content is None else {"content": content}
        return await self._client.request(method, path, headers=self._headers, **body)


@asynccontextmanager
async def serving(database, auth: Auth) -> AsyncIterator[Any]:
    async with open_services(database=database, graphs=Graphs({"plain": graph})) as services:
        app = create_app(
            services=services,
            identify=ProjectIdentity(auth).identify,
            authorization=ProjectAuthorization(auth, services),
        )
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield lambda name: Caller(client, name)


def test_identities_become_owners_and_share_nothing(database):
    """Without any other handler, as without filters: ownership does not depend on them."""

    async def scenario() -> None:
        async with serving(database, new_auth()) as caller:
            alice, others = caller("alice"), [caller("bob"), caller("ally")]
            thread = (await alice("POST", "/threads", {})).json()["thread_id"]
            assert (await alice("GET", f"/threads/{thread}")).status_code == 200
            for other in others:
                assert (await other("GET", f"/threads/{thread}")).status_code == 404
                assert (await other("POST", "/threads/search", {})).json() == []
            for nobody in ("", "carol"):
                refused = await caller(nobody)("GET", f"/threads/{thread}")
                assert refused.status_code == 401
                assert refused.json()["message"] == "Who are you?"

    asyncio.run(scenario())


def test_a_stamp_is_stored_and_its_filter_hides_what_has_none(database):
    async def scenario() -> None:
        async with serving(database, new_auth()) as caller:
            hidden = (await caller("alice")("POST", "/threads", {})).json()["thread_id"]
        async with serving(database, owner_auth()) as caller:
            alice = caller("alice")
            created = (await alice("POST", "/threads", {"metadata": {"a": 1}})).json()
            assert created["metadata"] == {"a": 1, "owner": "alice"}
            found = (await alice("POST", "/threads/search", {})).json()
            assert created["thread_id"] in [one["thread_id"] for one in found]
            assert hidden not in [one["thread_id"] for one in found]
            for method, path, body in (
                ("GET", f"/threads/{hidden}", None),
                ("GET", f"/threads/{hidden}/state", None),
                ("POST", f"/threads/{hidden}/state", {"values": {"text": "x"}}),
                ("POST", f"/threads/{hidden}/history", {}),
                ("PATCH", f"/threads/{hidden}", {"metadata": {"b": 1}}),
                ("POST", f"/threads/{hidden}/copy", None),
                ("POST", f"/threads/{hidden}/runs", RUN),
                ("POST", f"/threads/{hidden}/runs/crons", CRON),
                ("GET", f"/threads/{hidden}/runs", None),
                ("POST", f"/threads/{hidden}/commands", {"id": 1, "method": "state.get"}),
                ("POST", f"/threads/{hidden}/stream/events", {"channels": ["values"]}),
                ("DELETE", f"/threads/{hidden}", None),
            ):
                answer = await alice(method, path, body)
                assert answer.status_code == 404, (method, path, answer.text)
            await alice("POST", "/threads/prune", {"thread_ids": [hidden], "strategy": "delete"})
        async with serving(database, new_auth()) as caller:
            assert (await caller("alice")("GET", f"/threads/{hidden}")).status_code == 200

    asyncio.run(scenario())


def test_a_search_cannot_ask_for_more_than_the_filter_shows(database):
    async def scenario() -> None:
        auth = new_auth()

        @auth.on.threads.search
        async def only(ctx: Any, value: Any) -> dict[str, Any]:
            return {"team": "red", "members": {"$contains": ["alice"]}}

        async with serving(database, auth) as caller:
            alice = caller("alice")
            for team, members in (("red", ["alice", "bob"]), ("red", ["bob"]), ("blue", ["alice"])):
                metadata = {"team": team, "members": members}
                await alice("POST", "/threads", {"metadata": metadata})
            for asked, count in (
                ({}, 1),
                ({"team": "red"}, 1),
                ({"members": ["bob"]}, 1),
                ({"members": ["carol"]}, 0),
                ({"team": "blue"}, 0),
                ({"members": "alice"}, 0),
            ):
                body = {"metadata": asked}
                found = (await alice("POST", "/threads/search", body)).json()
                assert len(found) == count, asked
                assert (await alice("POST", "/threads/count", body)).json() == count

    asyncio.run(scenario())


def test_a_thread_that_a_run_creates_is_stamped(database):
    async def scenario() -> None:
        async with serving(database, owner_auth()) as caller:
            alice = caller("alice")
            by_run, by_command = uuid4(), uuid4()
            body = {**RUN, "if_not_exists": "create"}
            assert (await alice("POST", f"/threads/{by_run}/runs", body)).status_code == 200
            command = {"id": 1, "method": "run.start", "params": RUN}
            answer = await alice("POST", f"/threads/{by_command}/commands", command)
            assert answer.json()["type"] == "success", answer.text
            for thread in (by_run, by_command):
                found = await alice("GET", f"/threads/{thread}")
                assert found.json()["metadata"]["owner"] == "alice"
            runs = (await alice("GET", f"/threads/{by_run}/runs")).json()
            assert runs[0]["metadata"]["owner"] == "alice"
            assert (await caller("bob")("POST", f"/threads/{by_run}/runs", body)).status_code == 404

    asyncio.run(scenario())


def test_assistants_and_schedules_are_stamped_and_filtered(database):
    async def scenario() -> None:
        async with serving(database, owner_auth()) as caller:
            alice = caller("alice")
            made = (await alice("POST", "/assistants", {"graph_id": "plain"})).json()
            assert made["metadata"]["owner"] == "alice"
            listed = (await alice("POST", "/assistants/search", {})).json()
            assert [one["assistant_id"] for one in listed] == [made["assistant_id"]]
            assert (await alice("GET", "/assistants/plain")).status_code == 404
            cron = (await alice("POST", "/runs/crons", CRON)).json()
            assert cron["metadata"]["owner"] == "alice"
            assert (await alice("GET", f"/runs/crons/{cron['cron_id']}")).status_code == 200
            assert len((await alice("POST", "/runs/crons/search", {})).json()) == 1
        async with serving(database, other := new_auth()) as caller:

            @other.on.crons
            async def hide(ctx: Any, value: Any) -> dict[str, str]:
                return {"owner": "nobody"}

            path = f"/runs/crons/{cron['cron_id']}"
            assert (await caller("alice")("GET", path)).status_code == 404
            assert (await caller("alice")("DELETE", path)).status_code == 404
            assert (await caller("alice")("POST", "/runs/crons/search", {})).json() == []

    asyncio.run(scenario())


def test_the_namespace_that_a_handler_writes_is_used_and_stays_the_owners(database):
    async def scenario() -> None:
        async with serving(database, owner_auth()) as caller:
            alice, ally = caller("alice"), caller("ally")
            item = {"namespace": ["notes"], "key": "a", "value": {"text": "mine"}}
            assert (await alice("PUT", "/store/items", item)).status_code == 204
            found = await alice("GET", "/store/items?namespace=notes&key=a")
            assert found.json()["namespace"] == ["alice", "notes"]
            search = {"namespace_prefix": ["notes"]}
            assert len((await alice("POST", "/store/items/search", search)).json()["items"]) == 1
            # The same identity in another tenant has the same namespace, and another root.
            assert (await ally("POST", "/store/items/search", search)).json()["items"] == []
            assert (await ally("GET", "/store/items?namespace=notes&key=a")).status_code == 404

    asyncio.run(scenario())


def test_false_is_403_and_the_most_specific_handler_decides(database):
    async def scenario() -> None:
        auth = new_auth()

        @auth.on
        async def deny(ctx: Any, value: Any) -> bool:
            return False

        @auth.on.threads
        async def allow(ctx: Any, value: Any) -> bool:
            return True

        @auth.on.threads.delete
        async def deleters(ctx: Auth.types.AuthContext, value: Any) -> bool:
            return "threads:delete" in ctx.permissions

        async with serving(database, auth) as caller:
            for name, status in (("alice", 204), ("bob", 403)):
                one = caller(name)
                thread = (await one("POST", "/threads", {})).json()["thread_id"]
                assert (await one("DELETE", f"/threads/{thread}")).status_code == status
            for method, path, body in (
                ("POST", "/assistants/search", {}),
                ("GET", "/assistants/plain", None),
                ("POST", "/runs/crons", CRON),
                ("PUT", "/store/items", {"namespace": ["a"], "key": "a", "value": {}}),
                ("GET", "/memories", None),  # not LangGraph's: the handler for everything decides
                ("GET", "/workspaces", None),
                ("GET", "/models", None),
            ):
                answer = await caller("alice")(method, path, body)
                assert (answer.status_code, answer.json()["error"]) == (403, "access_denied"), path

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "result", [1, "yes", [], {"owner": {"$gt": "a"}}, {"$or": [{"owner": "a"}]}, {"owner": ["a"]}]
)
def test_what_cannot_be_understood_shows_nothing(database, result):
    async def scenario() -> None:
        auth = new_auth()

        @auth.on.threads.read
        @auth.on.threads.search
        async def odd(ctx: Any, value: Any) -> Any:
            return result

        async with serving(database, auth) as caller:
            thread = (await caller("alice")("POST", "/threads", {})).json()["thread_id"]
            assert (await caller("alice")("GET", f"/threads/{thread}")).status_code == 403
            assert (await caller("alice")("POST", "/threads/search", {})).status_code == 403

    asyncio.run(scenario())


def test_errors_of_handlers_have_their_status_and_never_let_through(database):
    async def scenario() -> None:
        auth = new_auth()

        @auth.on.threads.create
        async def refuse(ctx: Any, value: Any) -> None:
            raise Auth.exceptions.HTTPException(status_code=402, detail="Pay first")

        @auth.on.threads.search
        async def fail(ctx: Any, value: Any) -> None:
            raise AssertionError("not carol")

        async with serving(database, auth) as caller:
            refused = await caller("alice")("POST", "/threads", {})
            assert (refused.status_code, refused.json()["message"]) == (402, "Pay first")
            failed = await caller("alice")("POST", "/threads/search", {})
            assert (failed.status_code, failed.json()["message"]) == (403, "not carol")

    asyncio.run(scenario())


MALFORMED = [b"null", b"[]", b'"text"', b"{", b'{"metadata": "text"}', b'{"metadata": [["a", 1]]}']


@pytest.mark.parametrize("body", MALFORMED)
def test_a_body_that_no_handler_can_be_shown_gets_past_none(database, body):
    async def scenario() -> None:
        async with serving(database, owner_auth()) as caller:
            alice, bob = caller("alice"), caller("bob")
            thread = (await alice("POST", "/threads", {})).json()["thread_id"]
            before = (await alice("POST", "/threads/count", {})).json()
            for path in ("/threads", "/threads/search", "/threads/count", "/assistants/search"):
                refused = await alice("POST", path, content=body)
                assert refused.status_code == 422, (path, refused.text)
                assert refused.json()["message"]
            assert (await bob("GET", f"/threads/{thread}", content=body)).status_code == 404
            assert (await alice("POST", "/threads/count", {})).json() == before

    asyncio.run(scenario())


def test_a_body_does_not_keep_a_handler_from_being_asked(database):
    async def scenario() -> None:
        auth = new_auth()

        @auth.on.threads.read
        async def refuse(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
            return False

        async with serving(database, auth) as caller:
            alice = caller("alice")
            thread = (await alice("POST", "/threads", {})).json()["thread_id"]
            for body in (b"", *MALFORMED):
                refused = await alice("GET", f"/threads/{thread}", content=body)
                assert refused.status_code == 403, body

    asyncio.run(scenario())


def test_research_asks_about_the_thread_that_a_request_names(database):
    async def scenario() -> None:
        async with serving(database, new_auth()) as caller:
            hidden = (await caller("alice")("POST", "/threads", {})).json()["thread_id"]
        async with serving(database, owner_auth()) as caller:
            alice = caller("alice")
            for path, body in (
                ("/api/research", {"query": "why?", "thread_id": hidden}),
                ("/api/research/approve", {"thread_id": hidden, "decision": "approve"}),
            ):
                answer = await alice("POST", path, body)
                assert (answer.status_code, answer.json()["error"]) == (404, "thread_not_found")

    asyncio.run(scenario())
