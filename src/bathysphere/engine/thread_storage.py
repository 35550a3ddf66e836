"""How much storage the checkpoints of a thread take."""

from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.database.tenant_reads import tenant_connection


async def measure_thread(pool: Pool, thread_id: UUID, *, owner: Owner) -> dict[str, Any]:
    """Return rows and bytes of a thread's checkpoints, channel values and pending writes.

    Row-level security shows the owner's threads only; whether it is one is the caller's question.
    """
    async with tenant_connection(pool, owner) as connection:
        values = {"thread": str(thread_id)}
        sizes: Any = await (await connection.execute(_SIZES, values)).fetchone()
        channels = await (await connection.execute(_CHANNELS, values)).fetchall()
    by_channel = {
        row["channel"]: {"versions": int(row["versions"]), "bytes": int(row["bytes"])}
        for row in channels
    }
    channel_values: dict[str, Any] = {
        "count": sum(one["versions"] for one in by_channel.values()),
        "bytes": sum(one["bytes"] for one in by_channel.values()),
        "by_channel": by_channel,
    }
    checkpoints = {"count": int(sizes["checkpoints"]), "bytes": int(sizes["checkpoint_bytes"])}
    writes = {"count": int(sizes["writes"]), "bytes": int(sizes["write_bytes"])}
    return {
        "total_bytes": checkpoints["bytes"] + channel_values["bytes"] + writes["bytes"],
        "checkpoints": checkpoints,
        "channel_values": channel_values,
        "pending_writes": writes,
    }


_SIZES = """
SELECT kept.checkpoints, kept.checkpoint_bytes, pending.writes, pending.write_bytes
  FROM (SELECT count(*) AS checkpoints,
               COALESCE(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0)
                   AS checkpoint_bytes
          FROM checkpoints WHERE thread_id = %(thread)s) kept,
       (SELECT count(*) AS writes, COALESCE(sum(pg_column_size(blob)), 0) AS write_bytes
          FROM checkpoint_writes WHERE thread_id = %(thread)s) pending
"""
_CHANNELS = """
SELECT channel, count(*) AS versions, COALESCE(sum(pg_column_size(blob)), 0) AS bytes
  FROM checkpoint_blobs WHERE thread_id = %(thread)s GROUP BY channel ORDER BY channel
"""
