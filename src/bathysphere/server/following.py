"""Following one run: its events until it is over, and what it left behind.

The log tells; the database decides. A run that ends without a word (it was cancelled while it
waited, or Redis is away) is noticed by looking at its row every few seconds.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from bathysphere.engine.events import Entry, Event, Gap
from bathysphere.engine.records import Owner, Run
from bathysphere.server.services import Services

_LOOK_SECONDS = 5.0
_DRAIN_SECONDS = 0.2
_ENDS = ("completed", "failed", "interrupted", "cancelled")


async def follow(
    services: Services, run: Run, *, owner: Owner, after: int = 0
) -> AsyncIterator[tuple[int, Event]]:
    """The run's events after an id, with their ids; returns when the run is over."""
    mark = str(run.run_id).encode()
    position, is_over = after, False
    while True:
        patience = _DRAIN_SECONDS if is_over else _LOOK_SECONDS
        try:
            async with aclosing(services.events.read(run.thread_id, after=position)) as items:  # type: ignore[type-var]  # an async generator in all logs
                while True:
                    async with asyncio.timeout(patience):
                        item = await anext(items)
                    if isinstance(item, Gap):
                        position = item.resumes_at
                        break
                    position = item.id
                    if mark in item.body and (event := _of(run, item)) is not None:
                        yield item.id, event
                        if _is_end(event):
                            return
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


def _of(run: Run, entry: Entry) -> Event | None:
    event = entry.event()
    return event if event.run_id == str(run.run_id) else None


def _is_end(event: Event) -> bool:
    return event.channel == "lifecycle" and not event.namespace and event.data["event"] in _ENDS
