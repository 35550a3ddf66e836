"""Whose thread it is, for what may come before it: a stream that waits for the first run."""

from uuid import UUID

from bathysphere.engine.database import Pool
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.records import Owner


async def thread_exists(pool: Pool, thread_id: UUID, *, owner: Owner) -> bool:
    """Whether the owner has the thread; False when nobody has it yet.

    Raises:
        ThreadNotFound: It is somebody else's.
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
        raise ThreadNotFound(f"no thread {thread_id}")
    return True
