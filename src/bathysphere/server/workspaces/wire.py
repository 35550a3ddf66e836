"""Serialize recorded changes and file listings."""

from typing import Any

from deepagents.backends.protocol import FileInfo

from bathysphere.engine.attempt_services.file_changes import RecordedChange


def change_json(change: RecordedChange) -> dict[str, Any]:
    """Serialize a recorded change."""
    return {
        "change_id": change.change_id,
        "path": change.path,
        "action": change.action,
        "asked_by": change.asked_by,
        "approver": change.approver,
        "thread_id": str(change.thread_id) if change.thread_id else None,
        "run_id": str(change.run_id) if change.run_id else None,
        "tool_call_id": None if change.undoes else change.call.partition(" ")[0],
        "before_version": change.before_version,
        "after_version": change.after_version,
        "undoes": change.undoes,
        "undone_by": change.undone_by,
        "at": change.finished_at.isoformat() if change.finished_at else None,
    }


def page(entries: list[FileInfo], *, after: str, limit: int) -> tuple[list[FileInfo], str | None]:
    """Return a page of entries, folders first, and the path after which the next page starts."""
    rest = [e for e in entries if not after or _sort_key(e["path"]) > _sort_key(after)]
    rest.sort(key=lambda entry: _sort_key(entry["path"]))
    entries = rest[:limit]
    return entries, entries[-1]["path"] if len(rest) > limit else None


def _sort_key(path: str) -> tuple[bool, str]:
    return not path.endswith("/"), path
