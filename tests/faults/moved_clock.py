"""A database clock that a campaign moves: a row that every scheduler process reads.

Production reads `clock_timestamp()` at the same place, by the same kind of function.
"""

from datetime import datetime
from typing import Any

from bathysphere.engine.database.pool import Connection

CREATE = (
    "CREATE TABLE moved_clock AS SELECT now() AS began, now() AS shown, 1::float AS speed,"
    " now() AS highest"
)
_SHOWN = "shown + (clock_timestamp() - began) * speed"


async def read_moved_clock(connection: Connection) -> datetime:
    """The time that the clock shows."""
    cursor = await connection.execute(f"SELECT {_SHOWN} AS now FROM moved_clock".encode())
    row: Any = await cursor.fetchone()
    now: datetime = row["now"]
    return now


async def set_clock(connection: Connection, *, hours: float = 0, speed: float) -> None:
    """Move the clock and set its speed."""
    await connection.execute(
        f"UPDATE moved_clock SET shown = {_SHOWN} + make_interval(secs => %s),"
        f" began = clock_timestamp(), speed = %s, highest = GREATEST(highest, {_SHOWN},"
        f" {_SHOWN} + make_interval(secs => %s))".encode(),
        (hours * 3600, speed, hours * 3600),
    )


async def highest(connection: Connection) -> datetime:
    """The latest time that the clock has ever shown."""
    cursor = await connection.execute(
        f"SELECT GREATEST(highest, {_SHOWN}) AS highest FROM moved_clock".encode()
    )
    row: Any = await cursor.fetchone()
    found: datetime = row["highest"]
    return found
