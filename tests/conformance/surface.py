"""All operations of the reference's OpenAPI document, on both servers: `make conformance-surface`.

Starts LangChain's development server (`reference.py`) and ours with the same graphs, sends the
requests of `surface_cases.py` to each, and compares statuses and the shapes of answers. What the
reference answered is recorded in `surface.json`, which `test_surface.py` compares ours with in CI.
Last line: JSON with `operations`, `covered` and `refused`.
"""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from own_server import own_database, serving
from reference import install, reference
from surface_cases import CASES, Case
from surface_resources import Resources

HERE = Path(__file__).parent
RECORDING = HERE / "surface.json"
PROTOCOL = HERE.parents[1] / "docs" / "protocol.md"
# What these hold depends on the graph or on the client, not on the interface.
OPAQUE = (
    *("metadata", "values", "config", "context", "kwargs", "interrupts", "extracted", "tasks"),
    *("input_schema", "output_schema", "state_schema", "config_schema", "context_schema"),
    *("flags", "by_channel", "data", "value", "meta"),
)
Answer = dict[str, Any]
DIFFERENT = {
    "POST /threads/{thread_id}/copy: missing": "a thread that does not exist is 404, not 409",
    "GET /threads/{thread_id}/stream: missing": "404, as its document says; not a stream",
    "GET /threads/{thread_id}/runs/{run_id}/join: missing": "404, as its document says",
    "GET /threads/{thread_id}/runs/{run_id}/stream: ok": "a run that is over is replayed",
    "POST /threads/{thread_id}/runs/wait: asked": "a question without a schema has no such field",
    "GET /mcp/: ok": "a session has a stream of its own",
    "DELETE /mcp/: ok": "a request without a session is 400, as the protocol says",
    "GET /store/items: missing": "404, so that a stored null is something else",
}
"""Cases in which ours answers in another way on purpose, with the reason."""
NOT_THERE = (None, 404, 405, 501)


def shape(value: Any, name: str = "") -> Any:
    """The types of a JSON value: `{"a": 1}` is `{"a": "number"}`."""
    if isinstance(value, dict):
        if name in OPAQUE:
            return "object"
        return {key: shape(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value and name not in OPAQUE else []
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "string"


async def answer(http: httpx.AsyncClient, case: Case, resources: Resources) -> Answer:
    """Send a case's request; return what counts of its answer."""
    method, _, template = case.operation.partition(" ")
    try:
        request = await resources.fill(
            {"url": case.path or template, "json": case.body, "params": case.params}
        )
    except (httpx.HTTPStatusError, KeyError, TypeError) as error:
        return {"status": None, "error": f"{type(error).__name__}: {error}"[:200]}
    if case.body is None:
        del request["json"]
    async with http.stream(method, headers=case.headers, **request) as response:
        kind = response.headers.get("content-type", "").partition(";")[0]
        found: Answer = {"status": response.status_code}
        if response.status_code >= 400:
            return found
        if case.is_endless:
            return {**found, "type": kind}
        body = (await response.aread()).decode()
    if case.is_jsonrpc:
        message = re.sub(r"^.*^data: (.*?)$.*$", r"\1", body, flags=re.MULTILINE | re.DOTALL)
        return {**found, "shape": shape(json.loads(message))}
    if kind == "text/event-stream":
        names = sorted(set(re.findall(r"^event: (\S+)", body, re.MULTILINE)) - {"heartbeat"})
        return {**found, "type": kind, "events": names}
    if kind == "application/json":
        # An empty list says nothing of its items.
        return {**found, "type": kind, "shape": shape(json.loads(body or "null"))}
    return {**found, "type": kind}


async def answers(address: str) -> dict[str, Answer]:
    """What a server answers to all cases, by the case's key."""
    async with httpx.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as http:
        resources = Resources(http)
        return {case.key: await answer(http, case, resources) for case in CASES}


async def operations(address: str) -> list[str]:
    """The operations of a server's OpenAPI document."""
    async with httpx.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as http:
        document = (await http.get("/openapi.json")).json()
    verbs = ("get", "put", "post", "patch", "delete")
    paths = document["paths"].items()
    return sorted(f"{verb.upper()} {path}" for path, ops in paths for verb in ops if verb in verbs)


def difference(theirs: Any, ours: Any, place: str = "") -> str | None:
    """Say where our answer lacks something of theirs; None if it does not."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, part in theirs.items():
            if key not in ours:
                return f"{place or 'answer'} lacks {key}"
            if (found := difference(part, ours[key], f"{place}.{key}".strip("."))) is not None:
                return found
        return None
    if isinstance(theirs, list) and isinstance(ours, list):
        both = bool(theirs and ours) and place != "events"
        if both:
            return difference(theirs[0], ours[0], f"{place}[]")
        return None if place != "events" or theirs == ours else f"events {ours}, not {theirs}"
    if "null" in (theirs, ours) and place.startswith("shape"):
        return None
    return None if theirs == ours else f"{place} {ours!r}, not {theirs!r}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Which operations ours answers like the reference, refuses, or answers in another way."""

    covered: list[str]
    different: list[str]
    """Operations of which no case is answered as the reference does."""
    refused: list[str]
    differing: dict[str, str]
    """By case: what is different."""


def compare(theirs: dict[str, Answer], ours: dict[str, Answer]) -> Comparison:
    """Compare all answers. An operation that ours does not have is refused."""
    by_operation: dict[str, list[Case]] = {}
    for case in CASES:
        by_operation.setdefault(case.operation, []).append(case)
    covered, different, differing = [], [], {}
    refused = [name for name in by_operation if _is_refused(name, theirs, ours)]
    for operation, cases in by_operation.items():
        if operation in refused:
            continue
        found = {case.key: difference(theirs[case.key], ours[case.key]) for case in cases}
        wrong = {key: what for key, what in found.items() if what is not None}
        differing |= wrong
        if len(wrong) == len(cases):
            different.append(operation)
        elif not wrong.keys() - DIFFERENT.keys():
            covered.append(operation)
    return Comparison(covered=covered, different=different, refused=refused, differing=differing)


def _is_refused(operation: str, theirs: dict[str, Answer], ours: dict[str, Answer]) -> bool:
    key = next(case.key for case in CASES if case.operation == operation)
    return ours[key]["status"] in NOT_THERE and theirs[key]["status"] not in NOT_THERE


def reasons() -> dict[str, str]:
    """The refused operations of docs/protocol.md, each with its reason."""
    section = (
        PROTOCOL.read_text().partition("### Operations that are refused")[2].partition("\n#")[0]
    )
    rows = re.findall(r"^\| `([A-Z]+ [^`]+)` \| (.+?) \|$", section, re.MULTILINE)
    return dict(rows)


async def record(address: str) -> dict[str, Any]:
    """What the reference answers, with its operations."""
    return {"operations": await operations(address), "answers": await answers(address)}


def main() -> int:
    install()
    with reference() as address:
        recorded = asyncio.run(record(address))
    RECORDING.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    with own_database() as database, serving(database, "-") as address:
        ours = asyncio.run(answers(address))
    found = compare(recorded["answers"], ours)
    for key, what in found.differing.items():
        sys.stdout.write(f"{key}: {what}{' (on purpose)' if key in DIFFERENT else ''}\n")
    result = {
        "operations": len(recorded["operations"]),
        "covered": len(found.covered),
        "refused": len(found.refused),
        "different": len(found.different),
        "cases": len(CASES),
        "cases_different_on_purpose": len(found.differing.keys() & DIFFERENT.keys()),
    }
    for operation in found.refused:
        sys.stdout.write(f"refused: {operation}: {reasons().get(operation, 'NO REASON')}\n")
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
