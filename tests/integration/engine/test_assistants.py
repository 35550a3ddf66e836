"""Stored assistants: versions under concurrency, and the limits of a user."""

import asyncio
import secrets
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.core.clock import SystemClock
from bathysphere.engine.assistants import AssistantDefinition, AssistantLimits, Assistants
from bathysphere.engine.database.stored_bytes import (
    NO_STORAGE_LIMITS,
    StorageLimits,
    StoredBytes,
)
from bathysphere.engine.errors import AssistantExists, StorageFull, TooManyAssistants

pytestmark = pytest.mark.services
PLAIN = AssistantDefinition(graph="plain", name="A")


def opened(rig: Rig, *, storage: StorageLimits = NO_STORAGE_LIMITS, **limits: int) -> Assistants:
    stored = StoredBytes(rig.pool, clock=SystemClock(), limits=storage)
    return Assistants(rig.pool, stored=stored, limits=AssistantLimits(**limits))


async def test_updates_at_once_are_versions_one_after_the_other(rig: Rig):
    assistants, name = opened(rig), uuid4()
    await assistants.create(name, PLAIN, owner=ALICE)
    await asyncio.gather(
        *(assistants.update(name, {"metadata": {f"k{n}": n}}, owner=ALICE) for n in range(8))
    )
    versions = await assistants.versions(name, owner=ALICE, limit=20)
    assert [one.version for one in versions] == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert versions[0].definition.metadata == {f"k{n}": n for n in range(8)}


async def test_one_of_several_creations_with_an_id_wins(rig: Rig):
    assistants, name = opened(rig), uuid4()
    made = await asyncio.gather(
        *(assistants.create(name, PLAIN, owner=ALICE) for _ in range(4)),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in made) == ["Assistant", *["AssistantExists"] * 3]
    assert any(isinstance(one, AssistantExists) for one in made)


async def test_a_user_has_a_limited_number_of_assistants_and_versions(rig: Rig):
    assistants, owner = opened(rig, per_user=3, versions=2), ALICE
    made = await asyncio.gather(
        *(assistants.create(uuid4(), PLAIN, owner=owner) for _ in range(40)),
        return_exceptions=True,
    )
    kept = [one for one in made if not isinstance(one, BaseException)]
    assert len(kept) == 3
    assert sum(isinstance(one, TooManyAssistants) for one in made) == 37
    await assistants.create(uuid4(), PLAIN, owner=BOB)
    await assistants.update(kept[0].assistant_id, {"name": "B"}, owner=owner)
    with pytest.raises(TooManyAssistants):
        await assistants.update(kept[0].assistant_id, {"name": "C"}, owner=owner)
    await assistants.delete(kept[0].assistant_id, owner=owner)
    await assistants.create(uuid4(), PLAIN, owner=owner)


async def test_what_assistants_hold_counts_as_stored_bytes(rig: Rig):
    limits = StorageLimits(per_user=100_000, per_tenant=None)
    big = AssistantDefinition(graph="plain", name="A", context={"text": secrets.token_hex(30_000)})
    made = await opened(rig, storage=limits).create(uuid4(), big, owner=ALICE)
    # Another process: it knows only what the database holds.
    assistants = opened(rig, storage=limits)
    with pytest.raises(StorageFull):
        await assistants.create(uuid4(), big, owner=ALICE)
    with pytest.raises(StorageFull):
        await assistants.update(made.assistant_id, {"name": "B"}, owner=ALICE)
    await assistants.delete(made.assistant_id, owner=ALICE)
    await opened(rig, storage=limits).create(uuid4(), big, owner=ALICE)
