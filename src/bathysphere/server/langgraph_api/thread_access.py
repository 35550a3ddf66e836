"""Check access to a thread that may not exist yet: a stream may wait for the first run."""

from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.errors import ThreadNotFound


async def thread_exists(pool: Pool, thread_id: UUID, *, owner: Owner) -> bool:
    """Whether the thread exists.

    Raises:
        ThreadNotFound: It belongs to another owner.
    """
    async with pool.connection() as connection:
        row = await (
            await connection.execute(
                "SELECT tenant, owner FROM engine.threads WHERE thread_id = %s", (thread_id,)
            )
        ).fetchone()
    if row is None:
        return False
    if (row["tenant"], row["owner"]) != (owner.tenant, owner.user):
        raise ThreadNotFound(f"Thread {thread_id} not found")
    return True
