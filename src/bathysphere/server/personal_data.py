"""Export and delete everything of one person: rows, live events, and files only they can reach."""

import asyncio
import contextlib
from zipfile import ZIP_DEFLATED, ZipFile

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.personal_data.deletion import Counts, PersonalData
from bathysphere.engine.personal_data.export import Export
from bathysphere.engine.personal_data.tables import PERSONAL_TABLES
from bathysphere.server.langgraph_api.delete_threads import delete_thread
from bathysphere.server.process.services import Services
from bathysphere.server.workspaces.service import Workspaces

_BATCH = 100
FILES = "files"


class HasMoney(CallerError):
    """The person has money that they have not got back yet."""

    code = "has_money"


class StillUsed(CallerError):
    """Something of the person was created while they were deleted."""

    code = "still_used"


async def count_person(services: Services, owner: Owner) -> Counts:
    """Count what an export contains and a deletion deletes."""
    counts = await PersonalData(services.pool).count(owner)
    keys = await asyncio.to_thread(_own_keys, services.workspaces, owner)
    return {**counts, FILES: len(keys)} if keys else counts


async def export_person(services: Services, owner: Owner, archive: ZipFile) -> Counts:
    """Write an archive of everything of the person; return the counts per kind."""
    await PersonalData(services.pool).record_export(owner)
    counts = await Export(services.pool, clock=services.clock).write(owner, archive)
    copied = await asyncio.to_thread(_copy_files, services.workspaces, owner, archive)
    return {**counts, FILES: copied} if copied else counts


async def delete_person(services: Services, owner: Owner, *, forfeits_money: bool = False) -> None:
    """Delete everything of the person; what must be kept loses their name.

    Raises:
        HasMoney: They have money that was not paid back, and it is not to be forfeited.
        ThreadBusy: A run did not stop.
        StillUsed: Something was created meanwhile.
    """
    rows = PersonalData(services.pool)
    if not forfeits_money and (amount := await rows.unclaimed_money(owner)):
        raise HasMoney(
            f"{owner.user} has {amount} sats that were neither spent nor paid back",
            hint="let them close their sessions and redeem the refunds, or forfeit the money",
        )
    await rows.revoke_access(owner)
    while threads := await rows.threads(owner, limit=_BATCH):
        deleted = set(await services.threads.delete_idle(threads))
        for thread in threads:
            if thread.thread_id not in deleted:
                with contextlib.suppress(ThreadNotFound):
                    await delete_thread(services, thread.thread_id, owner=owner)
    await rows.delete_rest(owner)
    await asyncio.to_thread(_delete_files, services.workspaces, owner)
    if left := await count_person(services, owner):
        raise StillUsed(
            f"Created while {owner.user} was deleted: {', '.join(left)}",
            hint="end their access at your identity provider, then delete again",
        )


def kept_kinds() -> frozenset[str]:
    """The kinds of rows that stay, without the person's name."""
    return frozenset(kind for kind, table in PERSONAL_TABLES.items() if table.is_kept)


def _own_keys(workspaces: Workspaces | None, owner: Owner) -> list[str]:
    """The keys of the files in workspaces that only this person can use."""
    if workspaces is None:
        return []
    found = []
    for name in workspaces.directory.private_workspaces(owner):
        listing = workspaces.bucket.listing(workspaces.root(owner, name).prefix)
        found += [meta.key for meta in listing.metas] + listing.strange
    return found


def _copy_files(workspaces: Workspaces | None, owner: Owner, archive: ZipFile) -> int:
    keys = _own_keys(workspaces, owner)
    for key in keys:
        stored = workspaces.bucket.get(key) if workspaces is not None else None
        if stored is not None:  # deleted meanwhile
            path = key.partition("/")[2]
            archive.writestr(f"{FILES}/{path}", stored.data, compress_type=ZIP_DEFLATED)
    return len(keys)


def _delete_files(workspaces: Workspaces | None, owner: Owner) -> None:
    if workspaces is not None and (keys := _own_keys(workspaces, owner)):
        workspaces.bucket.delete(keys)
