"""Undo recorded changes of workspace files, and preview it."""

import asyncio
from typing import Any

from bathysphere.backends.conditional import ABSENT, Expectation
from bathysphere.backends.object_store import ObjectStoreBackend
from bathysphere.backends.object_store.changes import difference
from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.attempt_services.file_changes import FileChanges, RecordedChange
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.server.workspaces.wire import change_json


class CannotUndo(CallerError):
    """The change cannot be undone."""

    code = "cannot_undo"


async def undo(
    workspaces: Workspaces, changes: FileChanges, owner: Owner, workspace: str, change_id: int
) -> None:
    """Restore a file to its content before a change, if it has not changed since.

    Raises:
        CannotUndo: The file has changed since, or its earlier content was not stored.
        ChangeNotFound: There is no such change in this workspace.
    """
    files = workspaces.files(owner, workspace)
    change = await changes.get(owner, workspace, change_id)
    now = await asyncio.to_thread(files.seen, change.path)
    _refuse_undo(change, now)
    expect = Expectation(change.after_version or ABSENT)
    error = await asyncio.to_thread(_restore, files, change, expect)
    if expect.was_refused:
        raise _changed_since()
    if error is not None:
        raise UpstreamError(error)
    after = await asyncio.to_thread(files.seen, change.path)
    await changes.record_undo(
        owner,
        change,
        before=now[1] if now else None,
        after_version=after[0] if after else ABSENT,
    )


async def preview_undo(
    workspaces: Workspaces, changes: FileChanges, owner: Owner, workspace: str, change_id: int
) -> dict[str, Any]:
    """Return a change with the diff that an undo would make, or the reason for its refusal.

    Raises:
        ChangeNotFound: There is no such change in this workspace.
    """
    files = workspaces.files(owner, workspace)
    change = await changes.get(owner, workspace, change_id)
    now = await asyncio.to_thread(files.seen, change.path)
    try:
        _refuse_undo(change, now)
    except CannotUndo as error:
        return {**change_json(change), "diff": None, "refusal": str(error)}
    diff = difference(change.path, now[1] if now else None, change.before)
    return {**change_json(change), "diff": diff.text, "refusal": None}


def _refuse_undo(change: RecordedChange, now: tuple[str, bytes] | None) -> None:
    if change.undone_by is not None:
        raise CannotUndo("The change was already undone")
    if change.before is None and change.before_version != ABSENT:
        raise CannotUndo("The earlier content of the file was too large to store")
    if (now[0] if now else ABSENT) != (change.after_version or ABSENT):
        raise _changed_since()


def _changed_since() -> CannotUndo:
    return CannotUndo("The file has changed since", hint="undo the newer change first")


def _restore(files: ObjectStoreBackend, change: RecordedChange, expect: Expectation) -> str | None:
    if change.before is None:
        return files.delete(change.path, expect=expect).error
    return files.write_bytes(change.path, change.before, expect=expect).error
