"""Delete threads: cancel their runs, refund what was not spent, delete all of their data."""

import asyncio
import contextlib
from uuid import UUID

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.records import ACTIVE
from bathysphere.server.process.services import Services

_STOP_POLLS = 100
_POLL_SECONDS = 0.1
_PAGE = 100


async def delete_thread(services: Services, thread_id: UUID, *, owner: Owner) -> None:
    """Cancel the thread's runs and delete it.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        ThreadBusy: A run did not stop.
    """
    await _close_account(services, thread_id, owner)
    active = await services.runs.list_of_thread(
        thread_id, owner=owner, statuses=ACTIVE, limit=10_000
    )
    for run in active:
        await services.runs.cancel(run.run_id, owner=owner)
    for _ in range(_STOP_POLLS):
        try:
            await services.threads.delete(thread_id, owner=owner)
        except ThreadBusy:
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return
    await services.threads.delete(thread_id, owner=owner)


async def delete_threads_of(services: Services, assistant_id: UUID, *, owner: Owner) -> None:
    """Delete the owner's threads whose metadata names the assistant."""
    wanted = {"assistant_id": str(assistant_id)}
    while found := await services.threads.search(owner=owner, metadata=wanted, limit=_PAGE):
        for thread in found:
            with contextlib.suppress(ThreadNotFound):  # deleted meanwhile
                await delete_thread(services, thread.thread_id, owner=owner)


async def _close_account(services: Services, thread_id: UUID, owner: Owner) -> None:
    """Close the payment account, so that unspent deposits are refunded."""
    if services.payments is not None:
        with contextlib.suppress(CallerError):
            await services.payments.close(str(thread_id), owner)
