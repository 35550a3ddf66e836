"""One or more requests for each operation of the reference's OpenAPI document.

`{name}` in a path or body is replaced by the id of a resource that `surface_resources.py` creates
on the server under test.
"""

from dataclasses import dataclass, field
from typing import Any

from surface_resources import ASK, CRON, STEPS

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "suite", "version": "1"},
    },
}
MISSING = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A request for an operation; `{…}` is filled in, `is_endless` reads only the first part."""

    operation: str
    name: str = "ok"
    path: str = ""
    body: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    is_endless: bool = False
    is_jsonrpc: bool = False
    """MCP lets a server answer with JSON or with a stream of one message; clients take both."""

    @property
    def key(self) -> str:
        """The case's name in reports and in the recording."""
        return f"{self.operation}: {self.name}"


def of(operation: str, *cases: Case | dict[str, Any]) -> list[Case]:
    """The cases of an operation; a dict has the fields of a `Case`."""
    return [Case(operation=operation, **dict(case)) for case in cases or ({},)]  # type: ignore[arg-type]


def missing(path: str, **fields: Any) -> dict[str, Any]:
    """The same for something that does not exist."""
    return {"name": "missing", "path": path, **fields}


def of_missing_thread(rest: str = "", **fields: Any) -> dict[str, Any]:
    return missing(f"/threads/{MISSING}{rest}", **fields)


def of_missing_run(rest: str = "", **fields: Any) -> dict[str, Any]:
    return missing(f"/threads/{{thread}}/runs/{MISSING}{rest}", **fields)


def of_missing_assistant(rest: str = "", **fields: Any) -> dict[str, Any]:
    return missing(f"/assistants/{MISSING}{rest}", **fields)


ASSISTANTS = [
    *of(
        "POST /assistants",
        {"body": {"graph_id": "told", "name": "x", "metadata": {"a": 1}}},
        {"name": "same id", "body": {"graph_id": "told", "assistant_id": "{assistant}"}},
        {
            "name": "same id, do nothing",
            "body": {
                "graph_id": "told",
                "assistant_id": "{assistant}",
                "if_exists": "do_nothing",
            },
        },
        {"name": "unknown graph", "body": {"graph_id": "nowhere"}},
        {"name": "no graph", "body": {}},
    ),
    *of(
        "POST /assistants/search",
        {"body": {"graph_id": "told"}},
        {"name": "sorted", "body": {"sort_by": "name", "sort_order": "asc", "limit": 2}},
        {"name": "selected", "body": {"select": ["assistant_id", "name"], "limit": 2}},
        {"name": "bad order", "body": {"sort_by": "colour"}},
    ),
    *of("POST /assistants/count", {"body": {"graph_id": "told"}}),
    *of(
        "GET /assistants/{assistant_id}",
        {"path": "/assistants/{assistant}"},
        of_missing_assistant(),
    ),
    *of(
        "DELETE /assistants/{assistant_id}",
        {"path": "/assistants/{new_assistant}"},
        {
            "name": "with threads",
            "path": "/assistants/{new_assistant}",
            "params": {"delete_threads": "true"},
        },
        of_missing_assistant(),
    ),
    *of(
        "PATCH /assistants/{assistant_id}",
        {"path": "/assistants/{assistant}", "body": {"name": "y", "metadata": {"b": 2}}},
        of_missing_assistant(body={"name": "y"}),
    ),
    *of(
        "GET /assistants/{assistant_id}/graph",
        {"path": "/assistants/{assistant}/graph"},
        of_missing_assistant("/graph"),
    ),
    *of(
        "GET /assistants/{assistant_id}/subgraphs",
        {"path": "/assistants/{nested}/subgraphs"},
        of_missing_assistant("/subgraphs"),
    ),
    *of(
        "GET /assistants/{assistant_id}/subgraphs/{namespace}",
        {"path": "/assistants/{nested}/subgraphs/inner"},
    ),
    *of(
        "GET /assistants/{assistant_id}/schemas",
        {"path": "/assistants/{assistant}/schemas"},
        of_missing_assistant("/schemas"),
    ),
    *of(
        "POST /assistants/{assistant_id}/versions",
        {"path": "/assistants/{assistant}/versions", "body": {}},
    ),
    *of(
        "POST /assistants/{assistant_id}/latest",
        {"path": "/assistants/{assistant}/latest", "body": {"version": 1}},
        {
            "name": "no such version",
            "path": "/assistants/{assistant}/latest",
            "body": {"version": 99},
        },
        of_missing_assistant("/latest", body={"version": 1}),
    ),
]

THREADS = [
    *of(
        "POST /threads",
        {"body": {"metadata": {"a": 1}}},
        {"name": "same id", "body": {"thread_id": "{thread}"}},
        {
            "name": "same id, do nothing",
            "body": {"thread_id": "{thread}", "if_exists": "do_nothing"},
        },
        {
            "name": "supersteps",
            "body": {
                "metadata": {"graph_id": "steps"},
                "supersteps": [{"updates": [{"values": {"name": "x"}, "as_node": "start"}]}],
            },
        },
        {"name": "bad id", "body": {"thread_id": "x"}},
    ),
    *of(
        "POST /threads/search",
        {"body": {"ids": ["{thread}"]}},
        {"name": "by values", "body": {"ids": ["{thread}"], "values": {"name": "s"}}},
        {"name": "sorted", "body": {"sort_by": "created_at", "sort_order": "asc", "limit": 1}},
        {"name": "selected", "body": {"ids": ["{thread}"], "select": ["thread_id", "status"]}},
        {
            "name": "extracted",
            "body": {"ids": ["{thread}"], "extract": {"name": "values.name"}},
        },
        {"name": "bad status", "body": {"status": "tired"}},
    ),
    *of(
        "POST /threads/count",
        {"body": {}},
        {"name": "by values", "body": {"metadata": {"suite": "{mark}"}, "values": {"name": "s"}}},
    ),
    *of(
        "POST /threads/prune",
        {"body": {"thread_ids": ["{new_thread}"]}},
        {"name": "none", "body": {"thread_ids": []}},
    ),
    *of(
        "GET /threads/{thread_id}/storage",
        {"path": "/threads/{thread}/storage"},
        of_missing_thread("/storage"),
    ),
    *of(
        "GET /threads/{thread_id}/state",
        {"path": "/threads/{thread}/state"},
        of_missing_thread("/state"),
    ),
    *of(
        "POST /threads/{thread_id}/state",
        {
            "path": "/threads/{thread}/state",
            "body": {"values": {"items": ["x"]}, "as_node": "step"},
        },
        of_missing_thread("/state", body={"values": {}}),
    ),
    *of(
        "GET /threads/{thread_id}/state/{checkpoint_id}",
        {"path": "/threads/{thread}/state/{checkpoint}"},
    ),
    *of(
        "POST /threads/{thread_id}/state/checkpoint",
        {
            "path": "/threads/{thread}/state/checkpoint",
            "body": {"checkpoint": {"checkpoint_id": "{checkpoint}", "checkpoint_ns": ""}},
        },
    ),
    *of(
        "GET /threads/{thread_id}/history",
        {"path": "/threads/{thread}/history", "params": {"limit": 1}},
        of_missing_thread("/history"),
    ),
    *of(
        "POST /threads/{thread_id}/history",
        {"path": "/threads/{thread}/history", "body": {"limit": 1}},
        of_missing_thread("/history", body={"limit": 1}),
    ),
    *of(
        "POST /threads/{thread_id}/copy",
        {"path": "/threads/{thread}/copy"},
        of_missing_thread("/copy"),
    ),
    *of(
        "GET /threads/{thread_id}",
        {"path": "/threads/{thread}"},
        {"name": "with a question", "path": "/threads/{asking}"},
        of_missing_thread(),
    ),
    *of("DELETE /threads/{thread_id}", {"path": "/threads/{new_thread}"}, of_missing_thread()),
    *of(
        "PATCH /threads/{thread_id}",
        {"path": "/threads/{thread}", "body": {"metadata": {"b": 2}}},
        of_missing_thread(body={"metadata": {}}),
    ),
    *of(
        "GET /threads/{thread_id}/stream",
        {"path": "/threads/{thread}/stream", "headers": {"last-event-id": "-"}, "is_endless": True},
        of_missing_thread("/stream"),
    ),
    *of(
        "POST /threads/{thread_id}/stream/events",
        {
            "path": "/threads/{thread}/stream/events",
            "body": {"channels": ["values"]},
            "is_endless": True,
        },
    ),
    *of(
        "POST /threads/{thread_id}/commands",
        {
            "path": "/threads/{new_thread}/commands",
            "body": {"id": 1, "method": "run.start", "params": STEPS},
        },
        {
            "name": "unknown command",
            "path": "/threads/{thread}/commands",
            "body": {"id": 1, "method": "fly", "params": {}},
        },
    ),
]

RUNS = [
    *of("GET /threads/{thread_id}/runs", {"path": "/threads/{thread}/runs"}),
    *of(
        "POST /threads/{thread_id}/runs",
        {"path": "/threads/{new_thread}/runs", "body": STEPS},
        {
            "name": "paused",
            "path": "/threads/{new_thread}/runs",
            "body": {**STEPS, "interrupt_before": "*"},
        },
        {
            "name": "scheduled",
            "path": "/threads/{new_thread}/runs",
            "body": {**STEPS, "after_seconds": 1},
        },
        {
            "name": "durability",
            "path": "/threads/{new_thread}/runs",
            "body": {**STEPS, "durability": "exit"},
        },
        {
            "name": "busy",
            "path": "/threads/{busy}/runs",
            "body": {**STEPS, "multitask_strategy": "reject"},
        },
        {
            "name": "unknown assistant",
            "path": "/threads/{thread}/runs",
            "body": {"assistant_id": MISSING},
        },
        of_missing_thread("/runs", body=STEPS),
    ),
    *of(
        "POST /threads/{thread_id}/runs/stream",
        {
            "path": "/threads/{new_thread}/runs/stream",
            "body": {**STEPS, "stream_mode": ["values", "updates"]},
        },
        of_missing_thread("/runs/stream", body=STEPS),
    ),
    *of(
        "POST /threads/{thread_id}/runs/wait",
        {"path": "/threads/{new_thread}/runs/wait", "body": STEPS},
        {"name": "asked", "path": "/threads/{new_thread}/runs/wait", "body": ASK},
        of_missing_thread("/runs/wait", body=STEPS),
    ),
    *of(
        "GET /threads/{thread_id}/runs/{run_id}",
        {"path": "/threads/{thread}/runs/{run}"},
        of_missing_run(),
    ),
    *of(
        "DELETE /threads/{thread_id}/runs/{run_id}",
        {"path": "/threads/{deletable}/runs/{deletable_run}"},
        of_missing_run(),
    ),
    *of(
        "GET /threads/{thread_id}/runs/{run_id}/join",
        {"path": "/threads/{thread}/runs/{run}/join"},
        of_missing_run("/join"),
    ),
    *of(
        "GET /threads/{thread_id}/runs/{run_id}/stream",
        {"name": "running", "path": "/threads/{streamed}/runs/{streamed_run}/stream"},
        {"path": "/threads/{thread}/runs/{run}/stream"},
    ),
    *of(
        "POST /threads/{thread_id}/runs/{run_id}/cancel",
        {"path": "/threads/{stopped}/runs/{stopped_run}/cancel", "params": {"wait": "true"}},
        of_missing_run("/cancel"),
    ),
    *of(
        "POST /runs",
        {"body": STEPS},
        {"name": "unknown assistant", "body": {"assistant_id": MISSING}},
    ),
    *of("POST /runs/batch", {"body": [STEPS, STEPS]}),
    *of("POST /runs/stream", {"body": STEPS}),
    *of("POST /runs/wait", {"body": STEPS}),
    *of("POST /runs/cancel", {"body": {"thread_id": "{canceled}", "run_ids": ["{canceled_run}"]}}),
]

CRONS = [
    *of(
        "POST /runs/crons",
        {"body": CRON},
        {"name": "bad schedule", "body": {**CRON, "schedule": "never"}},
    ),
    *of(
        "POST /threads/{thread_id}/runs/crons",
        {"path": "/threads/{thread}/runs/crons", "body": CRON},
    ),
    *of("POST /runs/crons/search", {"body": {}}),
    *of("POST /runs/crons/count", {"body": {}}),
    *of(
        "GET /runs/crons/{cron_id}",
        {"path": "/runs/crons/{cron}"},
        missing(f"/runs/crons/{MISSING}"),
    ),
    *of(
        "PATCH /runs/crons/{cron_id}",
        {"path": "/runs/crons/{cron}", "body": {"schedule": "0 0 2 1 *"}},
        missing(f"/runs/crons/{MISSING}", body={"schedule": "0 0 2 1 *"}),
    ),
    *of(
        "DELETE /runs/crons/{cron_id}",
        {"path": "/runs/crons/{new_cron}"},
        missing(f"/runs/crons/{MISSING}"),
    ),
]

STORE = [
    *of("PUT /store/items", {"body": {"namespace": ["n"], "key": "k", "value": {"a": 1}}}),
    *of(
        "GET /store/items",
        {"params": {"namespace": "n", "key": "k"}},
        {"name": "missing", "params": {"namespace": "n", "key": "x"}},
    ),
    *of("POST /store/items/search", {"body": {"namespace_prefix": ["n"]}}),
    *of("POST /store/namespaces", {"body": {"prefix": ["n"]}}),
    *of("DELETE /store/items", {"body": {"namespace": ["n"], "key": "k"}}),
]

SYSTEM = [
    *of("GET /info"),
    *of("GET /ok"),
    *of("GET /docs"),
    *of("GET /metrics"),
    *of(
        "POST /mcp/",
        {
            "path": "/mcp/",
            "body": INITIALIZE,
            "is_jsonrpc": True,
            "headers": {"accept": "application/json, text/event-stream"},
        },
    ),
    *of("GET /mcp/", {"path": "/mcp/"}),
    *of("DELETE /mcp/", {"path": "/mcp/"}),
    *of(
        "POST /a2a/{assistant_id}",
        {
            "path": "/a2a/{chat}",
            "body": {"jsonrpc": "2.0", "id": "1", "method": "tasks/get", "params": {"id": MISSING}},
            "headers": {"accept": "application/json"},
        },
    ),
]

CASES = [*ASSISTANTS, *THREADS, *RUNS, *CRONS, *STORE, *SYSTEM]
