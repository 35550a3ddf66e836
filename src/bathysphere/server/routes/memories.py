"""Memory routes: the notes that agents keep about the caller, and the caller's switch."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from langgraph.store.base import BaseStore
from pydantic import Field
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.database.tenant_reads import TenantStore
from bathysphere.middleware.memories.notes import (
    MAX_NOTES,
    MAX_TEXT,
    Change,
    InvalidNote,
    Memory,
    MemoryMode,
    Note,
    checked,
    deletion,
)
from bathysphere.middleware.memories.storage import Notebook
from bathysphere.server.deps import CurrentOwner, MemoryModeDep, ServicesDep
from bathysphere.server.errors import InvalidRequest, ItemNotFound, NotSupported
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.schemas.protocol import Open

router = APIRouter(prefix="/memories", tags=["memories"], route_class=StrictRoute)
NoteName = Annotated[str, Path(description="Name of the note.", max_length=256)]


class Switch(Open):
    """Whether the caller's memory is on."""

    is_on: bool


class NoteText(Open):
    """The new text of a note."""

    text: Annotated[str, Field(max_length=10_000)]


class Notes:
    """The notes of one owner."""

    def __init__(self, store: BaseStore, owner: Owner, mode: MemoryMode) -> None:
        self._store = OwnedStore(TenantStore(store, owner), owner)
        self._notebook = Notebook(owner, mode)

    async def read(self) -> Memory:
        """Return the switch and the notes."""
        return self._notebook.memory(await self._store.abatch(self._notebook.read()))

    async def change(self, change: Change) -> None:
        """Write or delete a note in the person's name."""
        await self._store.abatch(self._notebook.write(change, "person"))

    async def switch(self, *, is_on: bool) -> None:
        """Turn the memory on or off."""
        await self._store.abatch(self._notebook.switch(is_on=is_on))


@router.get("", response_model=dict[str, Any])
async def get(owner: CurrentOwner, services: ServicesDep, mode: MemoryModeDep) -> Response:
    """The caller's switch and notes."""
    return JSON(_view(await Notes(services.store, owner, mode).read(), mode))


@router.put("", response_model=dict[str, Any])
async def switch(
    body: Switch, owner: CurrentOwner, services: ServicesDep, mode: MemoryModeDep
) -> Response:
    """Turn the caller's memory on or off."""
    if body.is_on and mode == "off":
        raise NotSupported("Memory is disabled on this server")
    notes = Notes(services.store, owner, mode)
    await notes.switch(is_on=body.is_on)
    return JSON(_view(await notes.read(), mode))


@router.put("/{note}", response_model=dict[str, Any])
async def put(
    note: NoteName,
    body: NoteText,
    owner: CurrentOwner,
    services: ServicesDep,
    mode: MemoryModeDep,
) -> Response:
    """Write a note, or replace its text."""
    notes = Notes(services.store, owner, mode)
    try:
        change = checked(await notes.read(), note, body.text)
    except InvalidNote as error:
        raise InvalidRequest(f"{error}.") from error
    await services.stored.reserve(owner, len(dumps(change.text)))
    await notes.change(change)
    return JSON(_view(await notes.read(), mode))


@router.delete("/{note}", status_code=204)
async def delete(
    note: NoteName, owner: CurrentOwner, services: ServicesDep, mode: MemoryModeDep
) -> Response:
    """Delete a note; no later prompt contains it."""
    notes = Notes(services.store, owner, mode)
    try:
        change = deletion(await notes.read(), note)
    except InvalidNote as error:
        raise ItemNotFound(f"Note {note!r} not found") from error
    await notes.change(change)
    return Response(status_code=204)


def _view(memory: Memory, mode: MemoryMode) -> dict[str, Any]:
    return {
        "mode": mode,
        "is_on": memory.is_on,
        "notes": [_note(note) for note in memory.notes],
        "max_notes": MAX_NOTES,
        "max_characters": MAX_TEXT,
    }


def _note(note: Note) -> dict[str, Any]:
    changed_at = note.changed.isoformat() if note.changed else None
    return {"name": note.name, "text": note.text, "by": note.by, "changed_at": changed_at}
