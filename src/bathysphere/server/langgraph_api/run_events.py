"""Follow one run: its events until it ends, and its result.

The database is authoritative, not the log. A run that ends without an event (cancelled while
waiting, or Redis is unavailable) is noticed by polling its row every few seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import Batch, Event, Gap
from bathysphere.engine.events.publisher import OMITTED
from bathysphere.engine.records import Run
from bathysphere.server.asgi.tenant_gate import release_permit
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.process.services import Services

_POLL_SECONDS = 5.0
_DRAIN_SECONDS = 1.0  # a busy worker publishes the end of a run later than it stores it
_ENDS = ("completed", "failed", "interrupted", "cancelled")


async def follow(
    services: Services, run: Run, *, owner: Owner, after: int = 0
) -> AsyncGenerator[list[tuple[int, Event]], None]:
    """Yield the run's events after an id, with their ids, until the run is over."""
    position, is_over = after, False
    while True:
        timeout = _DRAIN_SECONDS if is_over else _POLL_SECONDS
        try:
            reading = services.events.batches(run.thread_id, owner=owner, after=position)
            async with aclosing(reading) as batches:
                while True:
                    async with asyncio.timeout(timeout):
                        batch = await anext(batches)
                    position = batch[-1].position
                    events = _events_of(run, batch)
                    if events:
                        yield events
                        if is_end(events[-1][1]):
                            return
                    if any(isinstance(item, Gap) for item in batch):
                        break
        except TimeoutError:
            if is_over:
                return
        is_over = (await services.runs.get(run.run_id, owner=owner)).is_over


async def wait_for_end(services: Services, run: Run, *, owner: Owner) -> Run:
    """Wait for the run to end and return it."""
    position = await services.events.last_id(run.thread_id)
    now = await services.runs.get(run.run_id, owner=owner)
    if not now.is_over:
        release_permit()
        async for _ in follow(services, run, owner=owner, after=position):
            pass
        now = await services.runs.get(run.run_id, owner=owner)
    return now


async def with_values(
    services: Services, run: Run, events: list[tuple[int, Event]], *, owner: Owner
) -> list[tuple[int, Event]]:
    """Insert the state into events where it was too large for the log.

    Of several such events in a batch only the last is kept: it matches the thread's current state.
    """
    large = [index for index, (_, event) in enumerate(events) if _is_omitted(event)]
    if not large:
        return events
    number, event = events[large[-1]]
    state = await services.states.read(run.thread_id, owner=owner)
    kept = {large[-1]: (number, replace(event, data=state["values"]))}
    return [kept.get(i, one) for i, one in enumerate(events) if i in kept or i not in large]


async def outcome(services: Services, run: Run, *, owner: Owner) -> Any:
    """The result of a finished run for a waiting client: values, open questions or the error."""
    state = await services.states.read(run.thread_id, owner=owner)
    values = state["values"]
    if run.status in ("error", "timeout"):
        error = run.error or {}
        told = {
            "error": error.get("code", "run_failed"),
            "message": error.get("message", "The run failed"),
        }
        return {**fields(values), "__error__": told}
    if run.status == "interrupted" and (questions := await open_questions(services, run, state)):
        return {**fields(values), "__interrupt__": questions}
    return values


async def open_questions(
    services: Services, run: Run, state: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A state's unanswered questions; stored answers that wait for others count as answered."""
    if not state["interrupts"]:
        return []
    stored = await services.answers.saved(run.thread_id, owner=run.owner)
    return [question for question in state["interrupts"] if question["id"] not in stored]


def _is_omitted(event: Event) -> bool:
    # A function's state is None until it returns, and then whatever it returned.
    is_state = event.channel == "values" and not event.namespace
    return is_state and isinstance(event.data, dict) and OMITTED in event.data


def _events_of(run: Run, batch: Batch) -> list[tuple[int, Event]]:
    """The run's events in a batch, up to its end."""
    name = str(run.run_id)
    mark = name.encode()
    found = []
    for item in batch:
        if isinstance(item, Gap) or mark not in item.text:
            continue
        event = item.event()
        if event.run_id == name:
            found.append((item.id, event))
            if is_end(event):
                break
    return found


def is_end(event: Event) -> bool:
    """Whether the event is the end of a run."""
    return event.channel == "lifecycle" and not event.namespace and event.data["event"] in _ENDS
