"""Records what was executed, in the database of the campaign."""

import asyncio
import os

import psycopg

URL = "JOURNAL_URL"
_SQL = "INSERT INTO journal (thread, what, pid) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"


async def execute(thread: str, what: str, delay: float) -> str:
    """Perform a step: record that it began, pay for it, and wait.

    Like any graph without our effect log, it pays with an idempotency key: the table takes each
    payment once.
    """
    await asyncio.to_thread(_record, thread, what)
    await asyncio.to_thread(_record, thread, f"paid {what}")
    await asyncio.sleep(delay)
    return what


def _record(thread: str, what: str) -> None:
    with psycopg.connect(os.environ[URL], autocommit=True) as connection:
        connection.execute(_SQL, (thread, what, os.getpid()))
