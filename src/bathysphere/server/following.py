"""Following one run: its events until it is over, and what it left behind.

The log tells; the database decides. A run that ends without a word (it was cancelled while it
waited, or Redis is away) is noticed by looking at its row every few seconds.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from bathysphere.engine.events import Batch, Event, Gap
from bathysphere.engine.records import Owner, Run
from bathysphere.server.services import Services

_LOOK_SECONDS = 5.0
_DRAIN_SECONDS = 0.2
_ENDS = ("completed", "failed", "interrupted", "cancelled")


async def follow(
    services: Services, run: Run, *, owner: Owner, after: int = 0
) -> AsyncGenerator[list[tuple[int, Event]], None]:
    """The run's events after an id, with their ids, as they came; returns when the run is over."""
    position, is_over = after, False
    while True:
        patience = _DRAIN_SECONDS if is_over else _LOOK_SECONDS
        try:
            async with aclosing(services.events.batches(run.thread_id, after=position)) as batches:
                while True:
                    async with asyncio.timeout(patience):
                        batch = await anext(batches)
                    position = batch[-1].position
                    events = _of(run, batch)
                    if events:
                        yield events
                        if _is_end(events[-1][1]):
                            return
                    if any(isinstance(item, Gap) for item in batch):
                        break
        except TimeoutError:
            if is_over:
                return
        is_over = (await services.runs.get(run.run_id, owner=owner)).is_over


async def ended(services: Services, run: Run, *, owner: Owner) -> Run:
    """The run, when it is over."""
    position = await services.events.last_id(run.thread_id)
    now = await services.runs.get(run.run_id, owner=owner)
    if not now.is_over:
        async for _ in follow(services, run, owner=owner, after=position):
            pass
        now = await services.runs.get(run.run_id, owner=owner)
    return now


async def outcome(services: Services, run: Run, *, owner: Owner) -> dict[str, Any]:
    """What a client that waited for the run gets: values, open questions, or the error."""
    state = await services.states.read(run.thread_id, owner=owner)
    values = dict(state["values"])
    if run.status in ("error", "timeout"):
        error = run.error or {}
        values["__error__"] = {
            "error": error.get("code", "run_failed"),
            "message": error.get("message", "the run failed"),
        }
    elif run.status == "interrupted" and state["interrupts"]:
        values["__interrupt__"] = state["interrupts"]
    return values


def _of(run: Run, batch: Batch) -> list[tuple[int, Event]]:
    """The run's events among these, up to its end."""
    name = str(run.run_id)
    mark = name.encode()
    found = []
    for item in batch:
        if isinstance(item, Gap) or mark not in item.body:
            continue
        event = item.event()
        if event.run_id == name:
            found.append((item.id, event))
            if _is_end(event):
                break
    return found


def _is_end(event: Event) -> bool:
    return event.channel == "lifecycle" and not event.namespace and event.data["event"] in _ENDS
