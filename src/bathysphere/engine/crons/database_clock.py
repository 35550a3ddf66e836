"""The clock of schedules: the database's, which all processes share.

Tests pass a clock that they can move; the statements are the same.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from bathysphere.engine.database.pool import Connection

DatabaseClock = Callable[[Connection], Awaitable[datetime]]
"""Reads the current time through a connection."""


async def read_database_clock(connection: Connection) -> datetime:
    """Return PostgreSQL's current time."""
    row: Any = await (await connection.execute("SELECT clock_timestamp() AS now")).fetchone()
    now: datetime = row["now"]
    return now
