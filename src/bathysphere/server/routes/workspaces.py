"""Workspaces: which there are for the caller, their files, what was changed, and undo."""

import asyncio
from datetime import UTC
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.jsonable import JSON
from bathysphere.server.services import Services
from bathysphere.server.strict import StrictRoute
from bathysphere.server.workspaces import (
    FileNotThere,
    NoStorage,
    Workspaces,
    change_json,
    page,
    undo,
    undoing,
)

router = APIRouter(prefix="/workspaces", tags=["workspaces"], route_class=StrictRoute)
Workspace = Annotated[str, Path(description="The workspace, by name.", max_length=64)]
FilePath = Annotated[str, Query(description="A path within the workspace.", max_length=2048)]
Lines = Annotated[int, Query(ge=1, le=5000)]
Offset = Annotated[int, Query(ge=0, le=2**31)]
ChangeId = Annotated[int, Path(ge=1, le=2**62)]


def workspaces_of(services: Services) -> Workspaces:
    """The workspaces of this server.

    Raises:
        NoStorage: It has none.
    """
    if services.workspaces is None:
        raise NoStorage("this server has no object store", hint="set BATHYSPHERE_STORAGE_KIND")
    return services.workspaces


@router.get("", response_model=dict[str, Any])
async def mine(owner: CurrentOwner, services: ServicesDep) -> Response:
    """Who the caller is, and the workspaces that they may use."""
    names = services.workspaces.names(owner) if services.workspaces else ()
    found = [{"name": name} for name in names]
    return JSON({"tenant": owner.tenant, "user": owner.user, "workspaces": found})


@router.get("/{workspace}/files", response_model=dict[str, Any])
async def files(
    workspace: Workspace,
    owner: CurrentOwner,
    services: ServicesDep,
    path: FilePath = "/",
    after: Annotated[str, Query(description="`next` of the page before.", max_length=2048)] = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> Response:
    """What is in a folder, a page at a time: folders, then files."""
    found = await workspaces_of(services).files(owner, workspace).als(path)
    if found.error is not None:
        raise _refused(found.error)
    entries, following = page(found.entries or [], after=after, limit=limit)
    return JSON({"path": path, "entries": entries, "next": following})


@router.get("/{workspace}/file", response_model=dict[str, Any])
async def file(
    workspace: Workspace,
    owner: CurrentOwner,
    services: ServicesDep,
    path: FilePath,
    offset: Offset = 0,
    limit: Lines = 500,
) -> Response:
    """Some lines of a file, or a file that is no text whole; and which version it is."""
    there = workspaces_of(services).files(owner, workspace)
    read, meta = await asyncio.to_thread(there.look, path, offset, limit)
    if read.error is not None or meta is None:
        raise _refused(read.error or "there is no such file")
    return JSON(
        {
            "path": path,
            "size": meta.size,
            "version": meta.version.token,
            "modified_at": meta.modified.astimezone(UTC).isoformat(),
            "file": read.file_data,
            "start_line": read.start_line,
            "end_line": read.end_line,
            "total_lines": read.total_lines,
            "next_offset": read.next_offset,
        }
    )


@router.get("/{workspace}/changes", response_model=dict[str, Any])
async def changes(
    workspace: Workspace,
    owner: CurrentOwner,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> Response:
    """What was changed, newest first, with who approved it."""
    root = workspaces_of(services).root(owner, workspace)
    found = await services.changes.of(owner, root.workspace, limit=limit, before=before)
    return JSON({"changes": [change_json(change) for change in found]})


@router.get("/{workspace}/changes/{change_id}", response_model=dict[str, Any])
async def change(
    workspace: Workspace, change_id: ChangeId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """One change, and what undoing it now would do (`diff`), or why it cannot be (`refusal`)."""
    there = workspaces_of(services)
    return JSON(await undoing(there, services.changes, owner, workspace, change_id))


@router.post("/{workspace}/changes/{change_id}/undo", status_code=204)
async def undo_change(
    workspace: Workspace,
    change_id: ChangeId,
    owner: CurrentOwner,
    services: ServicesDep,
) -> Response:
    """Put the file back to what it was before the change, if nothing happened to it since."""
    await asyncio.shield(
        undo(workspaces_of(services), services.changes, owner, workspace, change_id)
    )
    return Response(status_code=204)


def _refused(error: str) -> CallerError:
    return FileNotThere(error.removeprefix("Error: "))
