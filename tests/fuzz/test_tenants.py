"""A short two-tenant campaign; `make fuzz-tenants` runs it in full."""

import asyncio
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import project_campaign
import tenants_campaign
from planted import FAULTS
from workspace_town import drop, own_database

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]
STEPS = 12 * len(tenants_campaign.CASES) + 160
"""Enough for every route by everyone, and some at random."""


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


def test_every_route_has_a_case_here():
    tenants_campaign.check_cases()


def test_nobody_sees_what_belongs_to_another(database):
    found = asyncio.run(tenants_campaign.campaign(database, steps=STEPS, seed=8))
    assert found.leaks == []
    assert found.steps >= STEPS
    kinds = ("own", "other", "stranger")
    missed = {(*case, k) for case in tenants_campaign.CASES for k in kinds} - found.covered
    assert missed == set()


@pytest.mark.long("tests/fuzz/test_tenants.py::test_nobody_sees_what_belongs_to_another")
def test_planted_faults_are_found(database):
    """Plant the faults that need time to show; `make fuzz-tenants` plants all."""
    assert set(SHORTLY) <= set(FAULTS)
    assert len(FAULTS) >= 10
    found = asyncio.run(tenants_campaign.caught(database, SHORTLY, seed=1))
    assert all(found.values()), found


def test_a_projects_handlers_keep_the_members_of_a_team_apart(database):
    steps = 12 * len(project_campaign.ROUTES) + 40
    found = asyncio.run(project_campaign.campaign(database, steps=steps, seed=8))
    assert found.leaks == []
    assert found.steps >= steps


@pytest.mark.long(
    "tests/fuzz/test_tenants.py::test_a_projects_handlers_keep_the_members_of_a_team_apart"
)
def test_faults_in_the_use_of_a_projects_handlers_are_found(database):
    found = asyncio.run(project_campaign.caught(database, list(project_campaign.FAULTS), seed=1))
    assert all(found.values()), found


SHORTLY = [
    "H1: a log delivers every owner's events",
    "M2: a stream asks nobody again",
    "M10: sources stay in the store",
    "checkpoints stay after a deletion",
    "a living thread is taken over",
    "an assistant is found by its id alone",
    "an MCP session answers everybody",
    "a schedule is found by its id alone",
    "notes have one root for all",
    "a deleted note stays in its conversation",
    "a revoked key goes on",
]
