"""Workspace routes: the caller's workspaces, their files, recorded changes and undo."""

import asyncio
from datetime import UTC
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.server.deps import CurrentOwner, CurrentRoles, ServicesDep
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.workspaces.service import NoStorage, WorkspaceFileNotFound, Workspaces
from bathysphere.server.workspaces.undo import preview_undo, undo
from bathysphere.server.workspaces.wire import change_json, page

router = APIRouter(prefix="/workspaces", tags=["workspaces"], route_class=StrictRoute)
Workspace = Annotated[str, Path(description="Name of the workspace.", max_length=64)]
FilePath = Annotated[str, Query(description="Path within the workspace.", max_length=2048)]
Lines = Annotated[int, Query(ge=1, le=5000)]
Offset = Annotated[int, Query(ge=0, le=2**31)]
ChangeId = Annotated[int, Path(ge=1, le=2**62)]


def workspaces_of(services: Services) -> Workspaces:
    """Return the workspaces of this server.

    Raises:
        NoStorage: No object store is configured.
    """
    if services.workspaces is None:
        raise NoStorage(
            "No object store is configured on this server", hint="set BATHYSPHERE_STORAGE_KIND"
        )
    return services.workspaces


@router.get("", response_model=dict[str, Any])
async def mine(owner: CurrentOwner, roles: CurrentRoles, services: ServicesDep) -> Response:
    """The caller's identity, roles and workspaces."""
    names = services.workspaces.names(owner) if services.workspaces else ()
    found = [{"name": name} for name in names]
    who = {"tenant": owner.tenant, "user": owner.user, "roles": sorted(roles)}
    return JSON({**who, "workspaces": found})


@router.get("/{workspace}/files", response_model=dict[str, Any])
async def files(
    workspace: Workspace,
    owner: CurrentOwner,
    services: ServicesDep,
    path: FilePath = "/",
    after: Annotated[str, Query(description="`next` of the previous page.", max_length=2048)] = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> Response:
    """List a folder in pages: folders first, then files."""
    found = await workspaces_of(services).files(owner, workspace).als(path)
    if found.error is not None:
        raise _not_found(found.error)
    entries, next_path = page(found.entries or [], after=after, limit=limit)
    return JSON({"path": path, "entries": entries, "next": next_path})


@router.get("/{workspace}/file", response_model=dict[str, Any])
async def file(
    workspace: Workspace,
    owner: CurrentOwner,
    services: ServicesDep,
    path: FilePath,
    offset: Offset = 0,
    limit: Lines = 500,
) -> Response:
    """Read lines of a text file, or a whole binary file, with its version."""
    backend = workspaces_of(services).files(owner, workspace)
    read, meta = await asyncio.to_thread(backend.look, path, offset, limit)
    if read.error is not None or meta is None:
        raise _not_found(read.error or "File not found")
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
    """List recorded changes, newest first, with their approvers."""
    root = workspaces_of(services).root(owner, workspace)
    found = await services.changes.list_of_workspace(
        owner, root.workspace, limit=limit, before=before
    )
    return JSON({"changes": [change_json(change) for change in found]})


@router.get("/{workspace}/changes/{change_id}", response_model=dict[str, Any])
async def change(
    workspace: Workspace, change_id: ChangeId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Get a change with the `diff` that an undo would make, or the reason for its `refusal`."""
    workspaces = workspaces_of(services)
    return JSON(await preview_undo(workspaces, services.changes, owner, workspace, change_id))


@router.post("/{workspace}/changes/{change_id}/undo", status_code=204)
async def undo_change(
    workspace: Workspace,
    change_id: ChangeId,
    owner: CurrentOwner,
    services: ServicesDep,
) -> Response:
    """Restore the file to its content before the change, if it has not changed since."""
    await asyncio.shield(
        undo(workspaces_of(services), services.changes, owner, workspace, change_id)
    )
    return Response(status_code=204)


def _not_found(error: str) -> CallerError:
    return WorkspaceFileNotFound(error.removeprefix("Error: "))
