"""Wait until PostgreSQL is back, for what must not be given up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bathysphere.core.errors import StorageLost
from bathysphere.engine.database.pool import CONNECTION_ERRORS

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_RETRY_SECONDS = 0.5


async def retry_storage(operation: Callable[[], Awaitable[_T]]) -> _T:
    """Retry until PostgreSQL responds: a run whose end is not recorded would be lost."""
    while True:
        try:
            return await operation()
        except (*CONNECTION_ERRORS, StorageLost) as error:
            _log.warning("PostgreSQL is unavailable: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
