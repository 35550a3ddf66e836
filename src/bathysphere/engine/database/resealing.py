"""Seal the stored values of a thread again: with another key, or for the place they were copied to.

Rows are locked while they are rewritten, and those that others have locked are skipped: a run that
goes on is not disturbed, and what it holds is found by the next pass.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from bathysphere.engine.database.pool import Connection
from bathysphere.engine.encryption.cipher import CIPHER, TenantCipher, json_key_of
from bathysphere.engine.encryption.places import (
    Place,
    answer_place,
    channel_place,
    effect_place,
    write_place,
)
from bathysphere.engine.encryption.work import keys_of_work, open_work, seal_work

Row = Mapping[str, Any]
_PAGE = 100
TYPED_KEY = rf"COALESCE(substring(type from '\+{CIPHER}\.([a-z0-9_-]+)$'), '')"
"""The id of the key of a serialized value; empty for plain text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How values were sealed: for which thread, and whose cipher opens and seals them."""

    thread_id: str
    cipher: TenantCipher
    is_copy: bool = False
    """Whether they are now stored in another thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedTable:
    """A table with sealed values."""

    name: str
    key: tuple[str, ...]
    """The columns that identify a row of a thread."""
    values: tuple[str, ...]
    """The columns that are sealed."""
    reseal: Callable[[Row, Reading, str], Row]
    """Open a row's values, and seal them for a thread."""
    where: str = "true"
    extra: Sequence[str] = field(default=())
    """What else `reseal` needs to know, as SQL."""

    def select(self, *, has_cursor: bool) -> bytes:
        """The next rows of a thread, locked."""
        columns = ", ".join((*self.key, *self.values, *self.extra))
        keys = ", ".join(self.key)
        after = f"AND ({keys}) > ({_names('after_', self.key)})" if has_cursor else ""
        return f"""SELECT {columns} FROM {self.name} t
        WHERE thread_id = %(thread)s AND {self.where} {after}
        ORDER BY {keys} LIMIT {_PAGE} FOR NO KEY UPDATE SKIP LOCKED""".encode()  # noqa: S608

    @property
    def update(self) -> bytes:
        """The statement that replaces the values of a row."""
        changes = ", ".join(f"{name} = %({name})s" for name in self.values)
        same = " AND ".join(f"{name} = %({name})s" for name in self.key)
        return (
            f"UPDATE {self.name} SET {changes} WHERE thread_id = %(thread)s AND {same}".encode()  # noqa: S608
        )


async def reseal(
    connection: Connection,
    table: SealedTable,
    reading: Reading,
    thread_id: str,
) -> int:
    """Rewrite the rows of a thread that are not sealed as they would be now; return how many.

    Each page is one transaction.
    """
    writer = None if reading.is_copy else reading.cipher.writer or ""
    count, after = 0, None
    while True:
        async with connection.transaction():
            values = {"thread": thread_id, "writer": writer, **(after or {})}
            statement = table.select(has_cursor=after is not None)
            rows = await (await connection.execute(statement, values)).fetchall()
            for row in rows:
                new = table.reseal(row, reading, thread_id)
                if any(new[name] != row[name] for name in table.values):
                    count += 1
                    key = {name: row[name] for name in table.key}
                    fresh = {name: _parameter(new[name]) for name in table.values}
                    await connection.execute(table.update, {"thread": thread_id, **key, **fresh})
        if len(rows) < _PAGE:
            return count
        after = {f"after_{name}": rows[-1][name] for name in table.key}


def _parameter(value: Any) -> Any:
    return value if isinstance(value, str | bytes) else Jsonb(value)


def _names(prefix: str, columns: Sequence[str]) -> str:
    return ", ".join(f"%({prefix}{name})s" for name in columns)


def _typed(row: Row, reading: Reading, before: Place, after: Place) -> Row:
    kind, data = reading.cipher.open_typed(row["type"], row["blob"], before)
    kind, data = reading.cipher.seal_typed(kind, data, after)
    return {"type": kind, "blob": data}


def _json(value: Any, reading: Reading, before: Place, after: Place) -> Any:
    if not reading.is_copy and json_key_of(value) == reading.cipher.writer:
        return value
    return reading.cipher.seal_json(reading.cipher.open_json(value, before), after)


def _value(row: Row, reading: Reading, thread_id: str) -> Row:
    where = row["checkpoint_ns"], row["channel"], row["version"]
    before, after = (channel_place(each, *where) for each in (reading.thread_id, thread_id))
    return _typed(row, reading, before, after)


def _write(row: Row, reading: Reading, thread_id: str) -> Row:
    where = (row[n] for n in ("checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel"))
    namespace, checkpoint_id, task_id, idx, channel = where
    before, after = (
        write_place(each, namespace, checkpoint_id, task_id, idx, channel)
        for each in (reading.thread_id, thread_id)
    )
    return _typed(row, reading, before, after)


def _checkpoint(row: Row, reading: Reading, thread_id: str) -> Row:
    checkpoint, marks = row["checkpoint"], set(row["marks"] or ())
    versions = checkpoint.get("channel_versions") or {}
    values = {}
    for name, value in (checkpoint.get("channel_values") or {}).items():
        where = row["checkpoint_ns"], name, versions.get(name)
        before, after = (channel_place(each, *where) for each in (reading.thread_id, thread_id))
        values[name] = value if name in marks else _json(value, reading, before, after)
    return {"checkpoint": {**checkpoint, "channel_values": values}}


def _work(row: Row, reading: Reading, thread_id: str) -> Row:
    run_id = row["run_id"]
    if not reading.is_copy and keys_of_work(row["work"]) <= {reading.cipher.writer}:
        return row
    work = open_work(row["work"], reading.cipher, thread_id=reading.thread_id, run_id=run_id)
    return {"work": seal_work(work, reading.cipher, thread_id=thread_id, run_id=run_id)}


def _answer(row: Row, reading: Reading, thread_id: str) -> Row:
    before, after = (
        answer_place(each, row["interrupt_id"]) for each in (reading.thread_id, thread_id)
    )
    return {"answer": _json(row["answer"], reading, before, after)}


def _effect(row: Row, reading: Reading, thread_id: str) -> Row:
    where = row["namespace"], row["task"], row["call"]
    before, after = (effect_place(each, *where) for each in (reading.thread_id, thread_id))
    return {"result": _json(row["result"], reading, before, after)}


_STALE = f"(%(writer)s::text IS NULL OR {TYPED_KEY} <> %(writer)s)"
MARKS = """ARRAY(
    SELECT v.key FROM jsonb_each(t.checkpoint -> 'channel_values') v
     WHERE v.value = 'true' AND EXISTS (
           SELECT 1 FROM checkpoint_blobs b
            WHERE b.thread_id = t.thread_id AND b.checkpoint_ns = t.checkpoint_ns
              AND b.channel = v.key AND b.version = t.checkpoint -> 'channel_versions' ->> v.key))
"""
"""The channels whose value inside a checkpoint only marks that there is a blob."""
_TYPED = ("type", "blob")
VALUES = SealedTable(
    name="checkpoint_blobs",
    key=("checkpoint_ns", "channel", "version"),
    values=_TYPED,
    reseal=_value,
    where=f"type <> 'empty' AND blob IS NOT NULL AND {_STALE}",
)
WRITES = SealedTable(
    name="checkpoint_writes",
    key=("checkpoint_ns", "checkpoint_id", "task_id", "idx"),
    values=_TYPED,
    reseal=_write,
    where=_STALE,
    extra=("channel",),
)
CHECKPOINTS = SealedTable(
    name="checkpoints",
    key=("checkpoint_ns", "checkpoint_id"),
    values=("checkpoint",),
    reseal=_checkpoint,
    extra=(f"{MARKS} AS marks",),
)
SAVED_WRITES = SealedTable(
    name="engine.writes_before",
    key=("run_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx"),
    values=_TYPED,
    reseal=_write,
    where=_STALE,
    extra=("channel",),
)
RUNS = SealedTable(name="engine.runs", key=("run_id",), values=("work",), reseal=_work)
ANSWERS = SealedTable(
    name="engine.answers", key=("interrupt_id",), values=("answer",), reseal=_answer
)
EFFECTS = SealedTable(
    name="engine.effects",
    key=("namespace", "task", "call"),
    values=("result",),
    reseal=_effect,
    where="result IS NOT NULL",
)
COPIED = (CHECKPOINTS, VALUES, WRITES)
"""The tables whose rows are copied with a thread."""
ALL = (*COPIED, SAVED_WRITES, RUNS, ANSWERS, EFFECTS)
