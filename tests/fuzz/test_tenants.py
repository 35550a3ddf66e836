"""The two-tenant campaign in short; `make fuzz-tenants` runs it in full."""

import asyncio
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import tenants_campaign
from workspace_town import drop, own_database

from bathysphere.server.workspaces import Workspaces
from bathysphere.tenancy.root import Root

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]
STEPS = 12 * len(tenants_campaign.CASES) + 80
"""Enough for every route by everyone, and some at random."""


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


def test_every_route_has_a_case_here():
    tenants_campaign.check_cases()


def test_nobody_sees_what_is_another_s(database):
    found = asyncio.run(tenants_campaign.campaign(database, steps=STEPS, seed=8))
    assert found.leaks == []
    assert found.steps >= STEPS
    kinds = ("own", "other", "stranger")
    missed = {(*case, k) for case in tenants_campaign.CASES for k in kinds} - found.covered
    assert missed == set()


def test_a_planted_hole_is_found(database, monkeypatch):
    """Whoever names a workspace gets it."""
    monkeypatch.setattr(
        Workspaces, "root", lambda self, owner, name: Root(tenant="acme", workspace=name)
    )
    only = {
        case: tenants_campaign.NAMED[case] for case in [("GET", "/workspaces/{workspace}/file")]
    }
    monkeypatch.setattr(tenants_campaign, "CASES", {**tenants_campaign.OPENLY, **only})
    found = asyncio.run(tenants_campaign.campaign(database, steps=170, seed=1))
    assert any("FILES-board-ada" in leak for leak in found.leaks)
    assert any("was answered with 200" in leak for leak in found.leaks)
