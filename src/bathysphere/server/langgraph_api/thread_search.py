"""Search threads: by what the database knows of them, and by their values.

Values are in checkpoints, which PostgreSQL cannot look into. A search by values therefore reads the
states of the threads that match otherwise, page by page, and looks at a limited number of them.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import orjson

from bathysphere.core.identity import Owner
from bathysphere.engine.records import Thread
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.bounded_answers import encode
from bathysphere.server.langgraph_api.thread_states import State
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.threads import ThreadCount, ThreadSearch

MAX_SEARCHED = 1000
"""How many threads are looked into, per request."""
_PAGE_THREADS = 25
_PAGE_BYTES = 8 * 1024 * 1024


async def search_threads(services: Services, body: ThreadSearch, *, owner: Owner) -> list[Thread]:
    """Return a page of the threads that match.

    Raises:
        InvalidRequest: A search by values would have to look into too many threads.
    """
    if not body.values:
        return await _find(services, body, owner, limit=body.limit, offset=body.offset)
    wanted = body.offset + body.limit
    found: list[Thread] = []
    async with (
        services.states.reads.turn(owner),
        aclosing(_by_values(services, body, owner)) as matching,
    ):
        async for thread in matching:
            found.append(thread)
            if len(found) == wanted:
                break
    return found[body.offset :]


async def count_threads(services: Services, body: ThreadCount, *, owner: Owner) -> int:
    """Count the threads that match.

    Raises:
        InvalidRequest: A search by values would have to look into too many threads.
    """
    if not body.values:
        return await services.threads.count(owner=owner, status=body.status, metadata=body.metadata)
    filters = ThreadSearch(metadata=body.metadata, status=body.status, values=body.values)
    async with services.states.reads.turn(owner):
        return len([thread async for thread in _by_values(services, filters, owner)])


class StateReader:
    """Reads the states of threads in pages: first one thread, then as many as fit."""

    def __init__(self, services: Services, threads: Sequence[Thread], *, owner: Owner) -> None:
        self._services = services
        self._threads = threads
        self._owner = owner
        self._largest = 1

    def measure(self, size: int) -> None:
        """Note the size of a state, for the next pages."""
        self._largest = max(self._largest, size)

    async def states(self) -> AsyncGenerator[tuple[Thread, State | None], None]:
        """Yield each thread with its state; one that was deleted meanwhile has none."""
        done = 0
        while done < len(self._threads):
            count = max(1, min(_PAGE_THREADS, _PAGE_BYTES // self._largest)) if done else 1
            page = self._threads[done : done + count]
            ids = [thread.thread_id for thread in page]
            states = await self._services.states.read_several(ids, owner=self._owner)
            for thread in page:
                yield thread, states.pop(thread.thread_id, None)
            done += len(page)


async def _find(
    services: Services, body: ThreadSearch, owner: Owner, *, limit: int, offset: int
) -> list[Thread]:
    return await services.threads.search(
        owner=owner,
        status=body.status,
        metadata=body.metadata,
        ids=body.ids,
        title_contains=body.title_contains,
        sort_by=body.sort_by or "updated_at",
        is_ascending=body.sort_order == "asc",
        limit=limit,
        offset=offset,
    )


async def _by_values(
    services: Services, body: ThreadSearch, owner: Owner
) -> AsyncGenerator[Thread, None]:
    candidates = await _find(services, body, owner, limit=MAX_SEARCHED + 1, offset=0)
    reader = StateReader(services, candidates[:MAX_SEARCHED], owner=owner)
    async with aclosing(reader.states()) as states:
        async for thread, state in states:
            encoded = await encode(state["values"] if state is not None else None)
            reader.measure(len(encoded))
            if contains(orjson.loads(encoded), body.values):
                yield thread
    if len(candidates) > MAX_SEARCHED:
        raise InvalidRequest(
            f"More than {MAX_SEARCHED} threads would have to be searched for values",
            hint="also filter by metadata, status or ids",
        )


def contains(value: Any, wanted: Any) -> bool:
    """Whether a JSON value contains another, as PostgreSQL's `@>` does."""
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            name in value and contains(value[name], part) for name, part in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(
            any(contains(item, part) for item in value) for part in wanted
        )
    return type(value) is type(wanted) and bool(value == wanted)
