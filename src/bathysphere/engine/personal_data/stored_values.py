"""Read the stored values of a person's rows, whether they are encrypted or not."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.base import SerializerProtocol

from bathysphere.engine.encryption.cipher import TenantCipher
from bathysphere.engine.encryption.places import (
    answer_place,
    channel_place,
    effect_place,
    write_place,
)
from bathysphere.engine.encryption.work import open_work


class StoredThread(NamedTuple):
    """Reads the rows of a thread's checkpoints."""

    thread_id: str
    cipher: TenantCipher
    serializer: SerializerProtocol

    def readable(self, row: dict[str, Any]) -> dict[str, Any]:
        """Replace what is stored in a row by its value."""
        if "checkpoint" in row:
            return self._checkpoint(row)
        plain = {name: value for name, value in row.items() if name not in {"blob", "type"}}
        is_stored = row["blob"] is not None and row["type"] != "empty"
        return {**plain, "value": self._value(row) if is_stored else None}

    def _value(self, row: Mapping[str, Any]) -> Any:
        if "version" in row:
            where = row["checkpoint_ns"], row["channel"], row["version"]
            place = channel_place(self.thread_id, *where)
        else:
            names = ("checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel")
            namespace, checkpoint_id, task_id, idx, channel = (row[name] for name in names)
            place = write_place(self.thread_id, namespace, checkpoint_id, task_id, idx, channel)
        return self.serializer.loads_typed(self.cipher.open_typed(row["type"], row["blob"], place))

    def _checkpoint(self, row: dict[str, Any]) -> dict[str, Any]:
        checkpoint, marks = row["checkpoint"], set(row["marks"] or ())
        versions = checkpoint.get("channel_versions") or {}
        values = {
            name: value
            if name in marks
            else self.cipher.open_json(
                value,
                channel_place(self.thread_id, row["checkpoint_ns"], name, versions.get(name)),
            )
            for name, value in (checkpoint.get("channel_values") or {}).items()
        }
        plain = {name: value for name, value in row.items() if name != "marks"}
        return {**plain, "checkpoint": {**checkpoint, "channel_values": values}}


def open_row(kind: str, row: dict[str, Any], cipher: TenantCipher) -> dict[str, Any]:
    """Open the contents of a row of one of the personal tables."""
    thread_id = row.get("thread_id")
    if kind == "runs":
        place = {"thread_id": str(thread_id), "run_id": row["run_id"]}
        return {**row, "work": open_work(row["work"], cipher, **place)}
    if kind == "answers":
        place_of_answer = answer_place(str(thread_id), row["interrupt_id"])
        return {**row, "answer": cipher.open_json(row["answer"], place_of_answer)}
    if kind == "effects":
        where = row["namespace"], row["task"], row["call"]
        place_of_effect = effect_place(str(thread_id), *where)
        return {**row, "result": cipher.open_json(row["result"], place_of_effect)}
    return row
