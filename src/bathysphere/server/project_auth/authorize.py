"""Ask a project's `@auth.on` handlers before a request is answered.

They can only narrow what a caller reaches: rows belong to the caller's `Owner` whatever a handler
says. `False` or an error refuses the request. A filter is applied to the metadata of threads,
assistants and schedules. What a handler changes in its value, such as metadata or a namespace of
the store, is what the route gets.
"""

import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant
from bathysphere.engine.errors import AssistantNotFound, ThreadNotFound
from bathysphere.server.errors import InvalidRequest, ThreadExists
from bathysphere.server.identity.identify import USER_KEY
from bathysphere.server.identity.public_routes import PUBLIC_PATHS
from bathysphere.server.langgraph_api.assistants import find_assistant
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.project_rules import RULES_KEY
from bathysphere.server.langgraph_api.strict_json import StrictRequest
from bathysphere.server.process.services import Services
from bathysphere.server.project_auth.authenticate import ProjectUser
from bathysphere.server.project_auth.filters import AccessDenied, Filter, matches, narrowed
from bathysphere.server.project_auth.operations import OPERATIONS, STARTING_COMMANDS, Operation
from bathysphere.server.project_auth.values import run_body, run_value, store_body, store_value
from bathysphere.upstream import authorization_handler

_log = logging.getLogger(__name__)
Json = dict[str, Any]
_IDS = ("thread_id", "run_id", "cron_id")


class ProjectAuthorization:
    """The handlers of one project."""

    def __init__(self, auth: Auth, services: Services) -> None:
        self._auth = auth
        self._services = services

    async def check(self, operation: str, request: StrictRequest) -> Response | None:
        """Ask the handlers about a request; change its body as they say.

        Raises:
            AccessDenied: A handler refuses it.
            ThreadNotFound: The filter of a handler hides the thread.
        """
        if request.scope["path"] in PUBLIC_PATHS:
            return None
        owner: Owner = await request.app.state.identify(request)
        user: ProjectUser = request.scope[USER_KEY]
        return await _Check(self._auth, self._services, request, owner, user).run(operation)


class _Check:
    """The questions about one request."""

    def __init__(
        self,
        auth: Auth,
        services: Services,
        request: StrictRequest,
        owner: Owner,
        user: ProjectUser,
    ) -> None:
        self._auth = auth
        self._services = services
        self._request = request
        self._owner = owner
        self._user = user
        self._ids = _path_ids(request.path_params)

    async def run(self, operation: str) -> Response | None:
        known = OPERATIONS.get(operation)
        if known is None:
            tag, _, name = operation.partition("-")
            await self._ask(tag, name, dict(self._ids))
            return None
        if operation.startswith("mcp-"):  # reads its body itself
            await self._leave_to_route(known, {})
            return None
        body = await self._body(may_be_list=known.kind == "runs")
        if known.kind == "search":
            return await self._search(known, body, is_count=operation.endswith("-count"))
        if operation == "protocol-command" and body.get("method") not in STARTING_COMMANDS:
            await self._one(Operation("threads", "read", "one"), {})
            return None
        await self._other(operation, known, body)
        return None

    async def _other(self, operation: str, known: Operation, body: Any) -> None:
        match known.kind:
            case "create":
                await self._create(known, body)
            case "one" | "update":
                await self._one(known, body)
            case "run":
                await self._run(body, is_command=operation == "protocol-command")
            case "runs":
                await self._stateless(body)
            case "copy":
                await self._one(known, body)
                await self._ask("threads", "create", {**self._ids, "metadata": {}})
            case "prune":
                await self._prune(body)
            case "store":
                await self._store(known, body)
            case _:
                await self._leave_to_route(known, body)

    async def _leave_to_route(self, known: Operation, body: Json) -> None:
        """Ask whether it may go on; the route asks again once it knows the thread."""
        await self._ask(known.resource, known.action, {**body, "metadata": {}})
        self._request.scope[RULES_KEY] = self

    async def before_run(self, thread_id: UUID, *, may_create: bool) -> Mapping[str, Any]:
        """Ask about a run; return the metadata of the thread, if the run creates it."""
        exists = await self._has_thread(thread_id)
        metadata = {} if exists or not may_create else await self._new_metadata(thread_id)
        found = await self._ask_run(thread_id, {})
        if exists:
            await self._check_thread(thread_id, found)
        return metadata

    async def shown(self, assistants: Sequence[Assistant]) -> list[Assistant]:
        """The assistants that the filter of a search shows."""
        found = await self._ask("assistants", "search", {"metadata": {}})
        return [one for one in assistants if matches(found, one.definition.metadata)]

    async def _create(self, known: Operation, body: Json) -> None:
        value = {**body, **self._ids, "metadata": _metadata(body)}
        if (thread_id := self._ids.get("thread_id")) is not None:  # a schedule on a thread
            await self._check_thread(thread_id, await self._ask_run(thread_id, {}))
        found = await self._ask(known.resource, known.action, value)
        self._rewrite(value)
        if known.resource == "threads" and found and (named := _uuid(value.get("thread_id"))):
            try:
                await self._check_thread(named, found)
            except ThreadNotFound as error:
                if await self._has_thread(named):
                    raise ThreadExists(f"Thread id {named} is already in use") from error

    async def _one(self, known: Operation, body: Json) -> None:
        value = {**body, **self._ids, "metadata": _metadata(body)}
        found = await self._ask(known.resource, known.action, value)
        if known.kind == "update":
            if not value["metadata"] and "metadata" not in body:
                del value["metadata"]
            self._rewrite(value)
        if self._request.query_params.get("delete_threads", "").lower() not in ("", "0", "false"):
            await self._refuse_filter(await self._ask("threads", "delete", {}))
        if not found:
            return
        if known.resource == "threads":
            thread_id = _uuid(self._ids.get("thread_id") or body.get("thread_id"))
            if thread_id is None:
                await self._refuse_filter(found)
            else:
                await self._check_thread(thread_id, found)
        else:
            await self._check_metadata(known, found)

    async def _check_metadata(self, known: Operation, found: Filter) -> None:
        """Apply a filter to an assistant or a schedule."""
        if known.resource == "assistants":
            name = self._request.path_params["assistant"]
            assistant = await find_assistant(self._services, name, owner=self._owner)
            if not matches(found, assistant.definition.metadata):
                raise AssistantNotFound(f"Assistant {name} not found")
            return
        if (cron_id := _uuid(self._ids.get("cron_id"))) is not None:
            cron = await self._services.crons.get(cron_id, owner=self._owner)
            if not matches(found, cron.options.metadata):
                raise HTTPException(404, f"Schedule {cron_id} not found")

    async def _run(self, body: Json, *, is_command: bool) -> None:
        thread_id = _uuid(self._ids.get("thread_id"))
        if thread_id is None:
            return  # the route refuses it
        fields = body.get("params") if is_command else body
        fields = fields if isinstance(fields, dict) else {}
        may_create = is_command or fields.get("if_not_exists") == "create"
        if may_create and not await self._has_thread(thread_id):
            await self._create_thread(thread_id)
        value = run_value(fields, thread_id)
        found = await self._ask("threads", "create_run", value)
        changed = run_body(value, fields)
        self._request.replace_body({**body, "params": changed} if is_command else changed)
        if await self._has_thread(thread_id):
            await self._check_thread(thread_id, found)

    async def _create_thread(self, thread_id: UUID) -> None:
        """Ask about the thread that a run would create; store the metadata it is given."""
        if metadata := await self._new_metadata(thread_id):
            await self._services.threads.create(thread_id, owner=self._owner, metadata=metadata)

    async def _new_metadata(self, thread_id: UUID) -> Json:
        """Ask about a new thread; return the metadata it is given."""
        value: Json = {"thread_id": thread_id, "metadata": {}, "if_exists": "do_nothing"}
        await self._ask("threads", "create", value)
        return _plain(value["metadata"])

    async def _stateless(self, body: Any) -> None:
        many = body if isinstance(body, list) else [body]
        changed = []
        for fields in many:
            value = run_value(fields if isinstance(fields, dict) else {}, None)
            await self._ask("threads", "create_run", value)
            changed.append(run_body(value, fields) if isinstance(fields, dict) else fields)
        self._request.replace_body(changed if isinstance(body, list) else changed[0])

    async def _prune(self, body: Json) -> None:
        """Leave out the threads that a filter hides, as missing ones are."""
        ids = body.get("thread_ids")
        kept = []
        for name in ids if isinstance(ids, list) else []:
            found = await self._ask("threads", "delete", {"thread_id": _uuid(name)})
            if (thread_id := _uuid(name)) is None or await self._is_visible(thread_id, found):
                kept.append(name)
        if isinstance(ids, list):
            self._request.replace_body({**body, "thread_ids": kept})

    async def _search(self, known: Operation, body: Json, *, is_count: bool) -> Response | None:
        value = {**body, "metadata": _metadata(body)}
        found = await self._ask(known.resource, known.action, value)
        metadata = narrowed(value["metadata"], found)
        if metadata is None:
            return JSON(0 if is_count else [])
        self._rewrite({**value, "metadata": metadata})
        return None

    async def _store(self, known: Operation, body: Json) -> None:
        query = dict(parse_qsl(self._request.scope["query_string"].decode()))
        value = store_value(known.action, body, query)
        await self._ask("store", known.action, value)
        if known.action == "get":
            query |= {"namespace": ".".join(value["namespace"]), "key": str(value["key"])}
            self._request.scope["query_string"] = urlencode(query).encode()
        else:
            self._request.replace_body(store_body(known.action, value, body))

    async def _ask_run(self, thread_id: UUID, fields: Json) -> Filter:
        return await self._ask("threads", "create_run", run_value(fields, thread_id))

    async def _ask(self, resource: str, action: str, value: Json) -> Filter:
        """Call the most specific handler; return its filter, empty if there is none."""
        handler = authorization_handler(self._auth, resource, action)
        if handler is None:
            return {}
        context = Auth.types.AuthContext(
            permissions=self._user.permissions,
            user=self._user,
            resource=resource,  # type: ignore[arg-type]  # ours may have other names
            action=action,  # type: ignore[arg-type]
        )
        try:
            result = handler(ctx=context, value=value)
            result = await result if inspect.isawaitable(result) else result
        except Auth.exceptions.HTTPException as error:
            if error.status_code == AccessDenied.status:
                raise AccessDenied(str(error.detail)) from error
            raise HTTPException(error.status_code, error.detail) from error
        except AssertionError as error:
            raise AccessDenied(str(error) or "Access denied") from error
        if result is None or result is True:
            return {}
        if isinstance(result, Mapping):
            return result
        if result is not False:
            _log.error("A handler for %s.%s returned %s", resource, action, type(result).__name__)
        raise AccessDenied

    async def _refuse_filter(self, found: Filter) -> None:
        if found:
            raise AccessDenied("This request cannot apply the filter of the project's handler")

    async def _has_thread(self, thread_id: UUID) -> bool:
        try:
            await self._services.threads.get(thread_id, owner=self._owner)
        except ThreadNotFound:
            return False
        return True

    async def _is_visible(self, thread_id: UUID, found: Filter) -> bool:
        try:
            await self._check_thread(thread_id, found)
        except ThreadNotFound:
            return False
        return True

    async def _check_thread(self, thread_id: Any, found: Filter) -> None:
        """Apply a filter to a thread; one that does not exist yet has nothing to hide."""
        known = _uuid(thread_id)
        if not found or known is None:
            return
        thread = await self._services.threads.get(known, owner=self._owner)
        if not matches(found, thread.metadata):
            raise ThreadNotFound(f"Thread {known} not found")

    async def _body(self, *, may_be_list: bool) -> Any:
        """The parsed body; an empty one is an object.

        Raises:
            InvalidRequest: It cannot be shown to a handler, so no route may see it either.
        """
        if self._request.method == "GET" or not await self._request.body():
            return {}
        try:
            body = await self._request.json()
        except json.JSONDecodeError as error:
            raise InvalidRequest(f"Body is not valid JSON: {error}") from error
        if not isinstance(body, dict) and not (may_be_list and isinstance(body, list)):
            raise InvalidRequest("Body must be a JSON object")
        return body

    def _rewrite(self, value: Json) -> None:
        """Let the route see the body as the handler left it, without the ids of the path."""
        self._request.replace_body(
            {name: one for name, one in value.items() if name not in self._ids}
        )


def _path_ids(params: Mapping[str, Any]) -> Json:
    ids: Json = {name: _uuid(params[name]) or params[name] for name in _IDS if name in params}
    if "assistant" in params:
        ids["assistant_id"] = _uuid(params["assistant"]) or params["assistant"]
    return ids


def _uuid(value: Any) -> UUID | None:
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except ValueError:
        return None


def _metadata(body: Mapping[str, Any]) -> Json:
    """A copy of the metadata that a client sent, for a handler to change."""
    found = body.get("metadata") or {}
    if not isinstance(found, Mapping):
        raise InvalidRequest("metadata must be a JSON object")
    return dict(found)


def _plain(metadata: Mapping[str, Any]) -> Json:
    return {str(name): value for name, value in metadata.items()}
