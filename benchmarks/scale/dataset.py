"""Many threads of many owners, made inside PostgreSQL from a few that the engine has written.

A template is a thread whose runs were served. Its rows are copied for every thread that is made,
under new ids and owners, so their shapes are the engine's own. Of a template's history the newest
checkpoints are copied: what reading and deleting a thread touches. One owner has a tenth of all
threads; the others have the rest, unevenly.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from bathysphere.core.identity import Owner
from bathysphere.engine.conversations.message_index import owner_tag

POSITIONS = 1000
"""Thread `n` has the owner, the template and the length of thread `n % POSITIONS`, in any size."""
HEAVY = Owner(tenant="tenant-0", user="heavy")
_HEAVY_POSITIONS = 100
_TENANTS = 20
_OTHERS = 60
VOCABULARY = 5000
_WORDS = 4
_KEPT_CHECKPOINTS = 8


class Share(NamedTuple):
    """The positions whose threads an owner has."""

    owner: Owner
    low: int
    high: int


def shares() -> list[Share]:
    """The owners, with fewer threads the later they come."""
    weights = [1 / number**0.8 for number in range(1, _OTHERS + 1)]
    found = [Share(HEAVY, 0, _HEAVY_POSITIONS)]
    for number, weight in enumerate(weights):
        low = found[-1].high
        count = max(1, int((POSITIONS - _HEAVY_POSITIONS) * weight / sum(weights)))
        is_last = number == _OTHERS - 1
        owner = Owner(tenant=f"tenant-{number % _TENANTS}", user=f"user-{number}")
        found.append(Share(owner, low, POSITIONS if is_last else low + count))
    return found


class Template(NamedTuple):
    """A served thread, and for how many of ten positions it stands."""

    thread_id: str
    positions: range


def fill(database: str, templates: Sequence[Template], *, threads: int) -> None:
    """Make the threads with everything that belongs to them."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # no triggers: rows are whole
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '512MB'")
        _make_names(connection, templates, threads)
        _shorten(connection)
        indexes = _drop_indexes(connection)
        connection.execute(_THREADS)
        for table, changed in _COPIED.items():
            _copy(connection, table, changed)
        for statement in indexes:
            connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def _make_names(connection: Any, templates: Sequence[Template], threads: int) -> None:
    connection.execute(_TABLES)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO bench.owners VALUES (%s, %s, %s, %s, %s)",
            [(s.owner.tenant, s.owner.user, owner_tag(s.owner), s.low, s.high) for s in shares()],
        )
        cursor.executemany(
            "INSERT INTO bench.templates VALUES (%s, %s, %s)",
            [(t.thread_id, t.positions.start, t.positions.stop) for t in templates],
        )
    connection.execute(_NAMES, {"threads": threads, "positions": POSITIONS})
    connection.execute("ANALYZE bench.threads")


def _shorten(connection: Any) -> None:
    """Keep the newest checkpoints of the templates, and what these refer to."""
    for statement in _SHORTEN:
        connection.execute(statement, {"kept": _KEPT_CHECKPOINTS})


def _drop_indexes(connection: Any) -> list[str]:
    """Drop the indexes that no constraint needs; return the statements that make them again."""
    tables = ["engine.threads", *_COPIED]
    rows = connection.execute(_INDEXES, {"tables": tables}).fetchall()
    for name, _ in rows:
        connection.execute(f"DROP INDEX {name}".encode())
    return [statement for _, statement in rows]


def _copy(connection: Any, table: str, changed: Mapping[str, str]) -> None:
    rows = connection.execute(_COLUMNS, {"table": table}).fetchall()
    names = [row[0] for row in rows]
    values = [sql.SQL(changed.get(name, f"source.{name}")) for name in names]
    schema, _, name = table.rpartition(".")
    statement = sql.SQL(
        "INSERT INTO {table} ({names}) SELECT {values} FROM {table} source"
        " JOIN bench.threads thread ON {key} = thread.template"
        " CROSS JOIN LATERAL (SELECT {words} AS list) words"
    ).format(
        table=sql.Identifier(*([schema] if schema else []), name),
        names=sql.SQL(", ").join(map(sql.Identifier, names)),
        values=sql.SQL(", ").join(values),
        key=sql.SQL(_OF_RUN if table == "engine.usage" else "source.thread_id::uuid"),
        words=sql.SQL(_SAID if table == "engine.message_texts" else "NULL"),
    )
    connection.execute(statement)


_TABLES = """
CREATE SCHEMA bench;
CREATE TABLE bench.owners (tenant text, owner text, tag text, low integer, high integer);
CREATE TABLE bench.templates (thread_id uuid, low integer, high integer);
"""
_NAMES = """
CREATE TABLE bench.threads AS
SELECT n, md5('thread ' || n)::uuid AS thread_id, tenant, owner, tag,
       template.thread_id AS template,
       now() - interval '90 days' * ((hashint8(n)::bigint + 2147483648) / 4294967296.0) AS used_at
  FROM generate_series(0, %(threads)s - 1) AS n
  JOIN bench.owners ON n %% %(positions)s >= low AND n %% %(positions)s < high
  JOIN bench.templates template ON n %% 10 >= template.low AND n %% 10 < template.high
"""
# A title of two words, a project of fifty, a batch of five threads and a ticket of its own.
_THREADS = f"""
INSERT INTO engine.threads (thread_id, tenant, owner, status, metadata, created_at, updated_at)
SELECT thread_id, tenant, owner,
       CASE WHEN n % 25 = 7 THEN 'interrupted' WHEN n % 33 = 8 THEN 'error' ELSE 'idle' END,
       jsonb_build_object(
           'graph_id', 'steps', 'ticket', 't' || n, 'batch', 'b' || n / 5,
           'project', 'p' || abs(hashint8(n) % 50),
           'title', 'About w' || abs(hashint8(n + 1) % {VOCABULARY}) || ' and w' || n),
       used_at - interval '1 day', used_at
  FROM bench.threads
"""
_SHORTEN = (
    """
    DELETE FROM checkpoints WHERE (thread_id, checkpoint_ns, checkpoint_id) NOT IN (
        SELECT thread_id, checkpoint_ns, checkpoint_id FROM (
            SELECT thread_id, checkpoint_ns, checkpoint_id, row_number() OVER (
                   PARTITION BY thread_id, checkpoint_ns ORDER BY checkpoint_id DESC) AS age
              FROM checkpoints) newest
         WHERE age <= %(kept)s)
    """,
    """
    DELETE FROM checkpoint_writes w WHERE NOT EXISTS (
        SELECT 1 FROM checkpoints c WHERE (c.thread_id, c.checkpoint_ns, c.checkpoint_id)
                                        = (w.thread_id, w.checkpoint_ns, w.checkpoint_id))
    """,
    """
    DELETE FROM checkpoint_blobs b WHERE NOT EXISTS (
        SELECT 1 FROM checkpoints c
         WHERE (c.thread_id, c.checkpoint_ns) = (b.thread_id, b.checkpoint_ns)
           AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version)
    """,
)
_INDEXES = """
SELECT index.indexrelid::regclass::text, pg_get_indexdef(index.indexrelid)
  FROM pg_index index
 WHERE index.indrelid = ANY (%(tables)s::text[]::regclass[])
   AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = index.indexrelid)
"""
_COLUMNS = """
SELECT attname FROM pg_attribute
 WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped
   AND attidentity = '' AND attgenerated = ''
"""
_OF_RUN = "(SELECT run.thread_id FROM engine.runs run WHERE run.run_id = source.run_id)"
_RUN_ID = "md5(thread.thread_id::text || source.run_id)::uuid"
_OWNER = {"tenant": "thread.tenant", "owner": "thread.owner"}
# Few words are said often, most are rare.
_SAID = "ARRAY[{}]".format(
    ", ".join(
        f"'w' || floor({VOCABULARY} * power((hashtextextended("
        f"thread.thread_id || source.message_id, {k}) & 1048575) / 1048576.0, 3))"
        for k in range(_WORDS)
    )
)
_COPIED: Mapping[str, Mapping[str, str]] = {
    "engine.usage": {"run_id": _RUN_ID, **_OWNER, "finished_at": "thread.used_at"},
    "engine.runs": {
        "run_id": _RUN_ID,
        "thread_id": "thread.thread_id",
        **_OWNER,
        "created_at": "thread.used_at",
        "finished_at": "thread.used_at",
    },
    "checkpoints": {"thread_id": "thread.thread_id::text"},
    "checkpoint_blobs": {"thread_id": "thread.thread_id::text"},
    "checkpoint_writes": {"thread_id": "thread.thread_id::text"},
    "engine.message_texts": {
        "thread_id": "thread.thread_id",
        **_OWNER,
        "body": "array_to_string(words.list, ' ')",
        "words": "array_to_tsvector(string_to_array("
        "thread.tag || array_to_string(words.list, ' ' || thread.tag), ' '))",
    },
}
