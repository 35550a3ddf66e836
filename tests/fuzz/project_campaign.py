"""The isolation campaign under a project's own `Auth`: handlers are the only wall within a team.

Two members of a team are one owner, so that nothing but the project's filters keeps their threads,
assistants, schedules and items apart; a third person is of another tenant. Whatever has no handler
of its own is refused. `tenants_campaign.py` runs this beside its own steps.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import tenants_campaign
from langgraph_sdk import Auth
from tenants_campaign import CASES, PEOPLE, STRANGER, Campaign
from workspace_town import Town

from bathysphere.server.identity import once
from bathysphere.server.project_auth import authorize
from bathysphere.server.project_auth.authenticate import ProjectIdentity
from bathysphere.server.project_auth.authorize import ProjectAuthorization

TEAM = "team"
HANDLED = ("/threads", "/runs", "/assistants", "/store", "/api/agent", "/api/research")
ROUTES = sorted(case for case in CASES if case[1].startswith(HANDLED))
REFUSED = (("GET", "/memories"), ("GET", "/workspaces"), ("PUT", "/memories/{note}"))
"""Routes without a handler of their own, which `@auth.on` refuses."""


def team_auth() -> Auth:
    """A project's handlers: members see what they stamped, and nothing else is allowed."""
    auth = Auth()

    @auth.authenticate
    async def authenticate(headers: dict[bytes, bytes]) -> dict[str, Any]:
        tenant, _, seat = headers.get(b"x-user", b"").decode().partition("/")
        if not tenant or not seat:
            raise Auth.exceptions.HTTPException(status_code=401, detail="Unknown key")
        return {"identity": TEAM, "tenant": tenant, "seat": seat}

    async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
        if ctx.action in ("create", "create_run", "update"):
            value.setdefault("metadata", {})["seat"] = ctx.user["seat"]
        return {"seat": ctx.user["seat"]}

    async def scope(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        value["namespace"] = (ctx.user["seat"], *(value.get("namespace") or ()))

    async def refuse(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
        return False

    auth.on(refuse)
    for resource in (auth.on.threads, auth.on.assistants, auth.on.crons):
        resource(own)
    auth.on.store(scope)
    return auth


class ProjectCampaign(Campaign):
    """The steps of people whom a project's handlers tell apart."""

    routes = ROUTES

    def __init__(self, town: Town, seed: int) -> None:
        super().__init__(town, seed)
        auth = team_auth()
        town.app.state.identify = once(ProjectIdentity(auth).identify)
        town.app.state.authorization = ProjectAuthorization(auth, town.services)

    async def furnish(self, name: str) -> None:
        """Create a thread with a run and a checkpoint, an item, an assistant and a schedule."""
        mine = self.people[name]
        thread = await self.call(name, ("POST", "/threads"), name)
        place = f"/threads/{thread.json()['thread_id']}"
        run = {"assistant_id": "plain", "input": {"items": [mine.mark]}}
        made = await self.town.call(name, "POST", f"{place}/runs", json=run)
        mine.add("run_id", made.json().get("run_id"))
        await self.town.call(name, "POST", f"{place}/runs/wait", json=run)
        state = (await self.town.call(name, "GET", f"{place}/state")).json()
        mine.add("checkpoint_id", (state.get("checkpoint") or {}).get("checkpoint_id"))
        for case in (("PUT", "/store/items"), ("POST", "/assistants"), ("POST", "/runs/crons")):
            await self.call(name, case, name)
        await self.open_mcp_session(name)

    async def forget_what_is_gone(self, whose: str) -> None:
        """Forget what was deleted, and create a thread if none is left."""
        tenant, _, seat = whose.partition("/")
        theirs = self.people[whose].ids
        theirs["thread_id"] = await self._stamped("thread_id", "threads", tenant, seat)
        theirs["assistant"] = await self._stamped("assistant_id", "assistants", tenant, seat)
        if not theirs["thread_id"]:
            body = {"metadata": {"of": self.people[whose].mark}}
            made = await self.town.call(whose, "POST", "/threads", json=body)
            theirs["thread_id"] = [made.json()["thread_id"]]

    async def _stamped(self, column: str, table: str, tenant: str, seat: str) -> list[str]:
        async with self.town.services.pool.connection() as connection:
            cursor = await connection.execute(
                f"SELECT {column}::text AS id FROM engine.{table} one WHERE tenant = %s"
                " AND to_jsonb(one)::text LIKE %s",
                (tenant, f'%"seat": "{seat}"%'),
            )
            return [row["id"] for row in await cursor.fetchall()][-12:]

    async def check_first(self) -> None:
        """Check the lists, and what no handler is for."""
        await self.list_everything()
        await self.check_refusals()

    async def anything(self) -> None:
        """Call a random route."""
        caller = self.dice.choice((*PEOPLE, *PEOPLE, STRANGER))
        await self.call(caller, self.dice.choice(ROUTES), self.dice.choice(PEOPLE))

    async def list_everything(self) -> None:
        """Look at each list as each person: it must not hold what another one made."""
        for caller in PEOPLE:
            for path in ("/threads/search", "/assistants/search", "/runs/crons/search"):
                await self.call(caller, ("POST", path), caller)
            await self.call(caller, ("POST", "/store/items/search"), caller)
            await self.use_tools(caller)

    async def use_tools(self, caller: str) -> None:
        """Call a tool of `/mcp` with the thread of each of the others.

        The session itself belongs to the owner; what it shows is asked for each request.
        """
        session = self.people[caller].ids["mcp_session"][0]
        headers = {"accept": "application/json, text/event-stream", "mcp-session-id": session}
        for whose in PEOPLE:
            await self.forget_what_is_gone(whose)
            thread = self.people[whose].ids["thread_id"][0]
            listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            case = ("POST", "/mcp")
            request: dict[str, Any] = {"json": listed, "headers": dict(headers)}
            answer = await self.send(caller, *case, request, case=case, is_own=True)
            for tool in tool_names(answer):
                arguments = {"items": [self.people[caller].mark], "thread_id": thread}
                params = {"name": tool, "arguments": arguments}
                call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
                request = {"json": call, "headers": dict(headers)}
                done = await self.send(caller, *case, request, case=case, is_own=True)
                if whose != caller and done is not None and "not found" not in done.text:
                    self.leak(caller, *case, f"a tool used a thread of {whose}")

    async def check_refusals(self) -> None:
        """What no handler is for is refused."""
        for caller in PEOPLE:
            for case in REFUSED:
                answer = await self.call(caller, case, caller)
                if answer is not None and answer.status_code != 403:
                    self.leak(caller, *case, f"{answer.status_code} in spite of the handler")


def tool_names(answer: Any) -> list[str]:
    """The first tool of an answer to `tools/list`."""
    return re.findall(r'"name":\s*"([^"]+)"', answer.text)[:1] if answer is not None else []


async def campaign(database: Any, *, steps: int, seed: int) -> Campaign:
    """Run the campaign on its own server."""
    return await tenants_campaign.campaign(database, steps=steps, seed=seed, kind=ProjectCampaign)


async def caught(database: Any, names: list[str], *, seed: int) -> dict[str, str | None]:
    """Run a short campaign with each fault; return its first leak, or None."""
    return await tenants_campaign.caught(
        database, names, seed=seed, kind=ProjectCampaign, plant=planted
    )


async def _no_check(*_: Any, **__: Any) -> Any:
    return {}


async def _show_all(self: Any, assistants: Any) -> Any:
    return list(assistants)


async def _no_refusal(self: Any, resource: str, action: str, value: Any) -> Any:
    try:
        return await _ASK(self, resource, action, value)
    except authorize.AccessDenied:
        return {}


_ASK = authorize._Check._ask
_CHECK = authorize._Check
FAULTS: dict[str, Callable[[], Any]] = {
    "project: a filter is not applied to a thread": lambda: patch.object(
        _CHECK, "_check_thread", _no_check
    ),
    "project: a filter is not applied to a search": lambda: patch.object(
        authorize, "narrowed", lambda asked, conditions: dict(asked)
    ),
    "project: a filter is not applied to assistants": lambda: patch.object(
        _CHECK, "_check_metadata", _no_check
    ),
    "project: the namespace of a handler is not used": lambda: patch.object(
        _CHECK, "_store", _no_check
    ),
    "project: a tool asks nobody about its thread": lambda: patch.object(
        _CHECK, "before_run", _no_check
    ),
    "project: tools are all assistants": lambda: patch.object(_CHECK, "shown", _show_all),
    "project: a refusal is ignored": lambda: patch.object(_CHECK, "_ask", _no_refusal),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Apply the fault."""
    with FAULTS[name]():
        yield
