"""Full-text search in an owner's conversations.

Every word is stored with a tag of its owner. The index therefore holds an owner's words side by
side: a search for the beginning of a word reads none of anybody else's, however common it is.
Ownership clauses and row-level security apply as everywhere.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.conversations.excerpts import Excerpt, excerpt_of
from bathysphere.engine.conversations.message_texts import MessageText, Role
from bathysphere.engine.conversations.words import query_words, words_of
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import MessageSearchOff
from bathysphere.engine.records import Run

_MAX_BODY = 20_000
_TAG_LENGTH = 12
_PER_THREAD = 3
_MAX_MESSAGES = 5_000
"""Messages of a thread that are indexed, from its end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageHit:
    """A message with the words of a query."""

    message_id: str
    role: Role
    excerpt: Excerpt


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadHit:
    """A thread whose messages have the words of a query."""

    thread_id: UUID
    metadata: Mapping[str, Any]
    updated_at: datetime
    hits: tuple[MessageHit, ...]
    count: int
    """How many of its messages have them."""


async def index_messages(connection: Connection, run: Run, texts: Sequence[MessageText]) -> None:
    """Make a thread's index equal to its messages, within the transaction that ends a run.

    Texts are compared by their size: a message that has been said does not change, but for an
    answer that was stopped and then completed.
    """
    positions = {(each.message_id, each.role): at for at, each in enumerate(texts)}
    kept = {(each.message_id, each.role): each for each in texts[-_MAX_MESSAGES:]}
    rows = await (await connection.execute(_KNOWN, (run.thread_id,))).fetchall()
    known = {(row["message_id"], row["role"]): row["size"] for row in rows}
    gone = [key for key in known if key not in kept]
    if gone:
        ids, roles = zip(*gone, strict=True)
        await connection.execute(_DELETE, (run.thread_id, list(ids), list(roles)))
    new = [each for key, each in kept.items() if known.get(key) != _size(_body(each))]
    if not new:
        return
    tag = owner_tag(run.owner)
    words = await asyncio.to_thread(lambda: [words_of(each.text) for each in new])
    await connection.cursor().executemany(
        _INSERT,
        [
            {
                "thread": run.thread_id,
                "message": each.message_id,
                "role": each.role,
                "tenant": run.owner.tenant,
                "owner": run.owner.user,
                "position": positions[each.message_id, each.role],
                "body": _body(each),
                "words": [tag + word for word in found],
            }
            for each, found in zip(new, words, strict=True)
        ],
    )


class MessageIndex:
    """Searches the messages of an owner's threads."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def search(
        self,
        query: str,
        *,
        owner: Owner,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 20,
    ) -> list[ThreadHit]:
        """Return threads with messages that have all words of the query, last used first.

        Raises:
            MessageSearchOff: The server does not store the words of messages.
        """
        if not self._pool.encryption.indexes_messages:
            raise MessageSearchOff(
                "Messages cannot be searched on this server", hint="search for a title instead"
            )
        words = query_words(query)
        if not words:
            return []
        tag = owner_tag(owner)
        values = {
            "tenant": owner.tenant,
            "owner": owner.user,
            "query": " & ".join(f"'{tag}{word}':*" for word in words),
            "metadata": Jsonb(dict(metadata or {})),
            "per_thread": _PER_THREAD,
            "limit": limit,
        }
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_SEARCH, values)).fetchall()
        return await asyncio.to_thread(_by_thread, rows, query)


def _by_thread(rows: Sequence[Mapping[str, Any]], query: str) -> list[ThreadHit]:
    threads: dict[UUID, list[Mapping[str, Any]]] = {}
    for row in rows:
        threads.setdefault(row["thread_id"], []).append(row)
    return [
        ThreadHit(
            thread_id=thread_id,
            metadata=found[0]["metadata"],
            updated_at=found[0]["updated_at"],
            count=found[0]["count"],
            hits=tuple(
                MessageHit(
                    message_id=row["message_id"],
                    role=row["role"],
                    excerpt=excerpt_of(row["body"], query),
                )
                for row in found
            ),
        )
        for thread_id, found in threads.items()
    ]


def owner_tag(owner: Owner) -> str:
    """What precedes each of the owner's words in the index."""
    return owner.digest[:_TAG_LENGTH]


def _body(text: MessageText) -> str:
    return text.text[:_MAX_BODY]


def _size(body: str) -> int:
    return len(body.encode())


_KNOWN = """
SELECT message_id, role, octet_length(body) AS size FROM engine.message_texts WHERE thread_id = %s
"""
_DELETE = """
DELETE FROM engine.message_texts
 WHERE thread_id = %s AND (message_id, role) IN (
       SELECT gone.message_id, gone.role
         FROM unnest(%s::text[], %s::text[]) AS gone (message_id, role))
"""
_INSERT = """
INSERT INTO engine.message_texts
       (thread_id, message_id, role, tenant, owner, position, body, words)
VALUES (%(thread)s, %(message)s, %(role)s, %(tenant)s, %(owner)s, %(position)s, %(body)s,
        array_to_tsvector(%(words)s::text[]))
ON CONFLICT (thread_id, message_id, role)
DO UPDATE SET body = EXCLUDED.body, words = EXCLUDED.words, position = EXCLUDED.position
"""
# Ownership is in the function, which reads it from the transaction: see `0451_own_messages.sql`.
_SEARCH = """
WITH hits AS (
SELECT thread_id, message_id, role, position,
       row_number() OVER (PARTITION BY thread_id ORDER BY position DESC) AS number,
       count(*) OVER (PARTITION BY thread_id) AS count
  FROM engine.own_messages(%(query)s::tsquery)
), newest AS (
SELECT thread_id, metadata, updated_at FROM engine.threads
 WHERE tenant = %(tenant)s AND owner = %(owner)s AND thread_id IN (SELECT thread_id FROM hits)
   AND metadata @> %(metadata)s
 ORDER BY updated_at DESC, thread_id LIMIT %(limit)s
)
SELECT hits.thread_id, hits.message_id, hits.role, text.body, hits.count,
       newest.metadata, newest.updated_at
  FROM hits
  JOIN newest USING (thread_id)
  JOIN engine.message_texts text USING (thread_id, message_id, role)
 WHERE hits.number <= %(per_thread)s
 ORDER BY newest.updated_at DESC, hits.thread_id, hits.position
"""
