"""Equal shares of a process for its active tenants."""

import asyncio

from bathysphere.core.identity import Owner
from bathysphere.engine import tenant_shares
from bathysphere.engine.tenant_shares import Permit, ShareLimits, TenantShares

ADA = Owner(tenant="acme", user="ada")
BEA = Owner(tenant="acme", user="bea")
BOB = Owner(tenant="other", user="bob")


async def granted(*tasks: asyncio.Task[None]) -> list[bool]:
    for _ in range(3):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


def asked(shares: TenantShares, *owners: Owner) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(shares.acquire(owner)) for owner in owners]


async def test_a_tenant_alone_has_all_permits_and_no_more():
    shares = TenantShares(ShareLimits(at_once=3))
    tasks = asked(shares, ADA, ADA, BEA, BEA)
    assert await granted(*tasks) == [True, True, True, False]
    shares.release(ADA)
    assert await granted(*tasks) == [True] * 4


async def test_another_tenant_gets_a_permit_at_once_and_its_share_is_kept():
    shares = TenantShares(ShareLimits(at_once=4))
    many = asked(shares, *[ADA] * 10)
    assert (await granted(*many)).count(True) == 4
    await asyncio.wait_for(shares.acquire(BOB), 1)
    for _ in range(3):
        shares.release(ADA)
    assert (await granted(*many)).count(True) == 5, "of four permits two are the other tenant's"
    shares.release(BOB)
    shares.release(ADA)
    assert (await granted(*many)).count(True) == 6, "its share is kept for its next request"
    for task in many:
        task.cancel()


async def test_a_tenant_that_was_idle_for_a_while_leaves_its_share_to_others(monkeypatch):
    monkeypatch.setattr(tenant_shares, "_ACTIVE_SECONDS", 0.01)
    shares = TenantShares(ShareLimits(at_once=2))
    await shares.acquire(BOB)
    shares.release(BOB)
    await asyncio.sleep(0.05)
    assert await granted(*asked(shares, ADA, ADA)) == [True, True]


async def test_a_tenant_that_still_works_is_active_however_long_it_takes(monkeypatch):
    monkeypatch.setattr(tenant_shares, "_ACTIVE_SECONDS", 0.01)
    shares = TenantShares(ShareLimits(at_once=2))
    await shares.acquire(BOB)
    await asyncio.sleep(0.05)
    tasks = asked(shares, ADA, ADA)
    assert await granted(*tasks) == [True, False]
    tasks[1].cancel()


async def test_users_of_a_tenant_are_served_in_turn():
    shares = TenantShares(ShareLimits(at_once=1))
    await shares.acquire(ADA)
    many = asked(shares, *[ADA] * 5)
    (one,) = asked(shares, BEA)
    await granted(one)
    shares.release(ADA)
    shares.release(ADA)
    assert await granted(one) == [True]
    for task in many:
        task.cancel()


async def test_whoever_gives_up_leaves_no_trace():
    shares = TenantShares(ShareLimits(at_once=1))
    await shares.acquire(ADA)
    waits, granted_late = asked(shares, BEA, BEA)
    await granted(waits)
    waits.cancel()
    await granted(waits)
    shares.release(ADA)  # the second is granted, and gives up before it knows
    granted_late.cancel()
    await granted(granted_late)
    await asyncio.wait_for(shares.acquire(ADA), 1)
    shares.release(ADA)
    assert not any(tenant.held or tenant.waiting for tenant in shares._tenants.values())


async def test_a_permit_held_for_long_is_lost_so_that_nobody_waits_for_ever():
    shares = TenantShares(ShareLimits(at_once=1, hold_seconds=0.02))
    async with Permit(shares, ADA), asyncio.timeout(1), Permit(shares, ADA):
        pass
    assert not any(tenant.held for tenant in shares._tenants.values())


async def test_a_request_that_is_cancelled_as_a_permit_gets_free_leaves_the_line():
    shares = TenantShares(ShareLimits(at_once=1))
    first, cancelled, last = asked(shares, ADA, ADA, ADA)
    assert await granted(first, cancelled, last) == [True, False, False]
    cancelled.cancel()
    shares.release(ADA)  # before the cancelled task has run again
    assert await granted(cancelled, last) == [True, True]
    assert cancelled.cancelled()


async def hold(shares: TenantShares, owner: Owner, seconds: float) -> None:
    await shares.acquire(owner)
    shares.add_usage(owner, seconds)
    shares.release(owner)


async def test_a_tenant_that_used_more_than_the_others_waits_until_it_is_forgotten(monkeypatch):
    monkeypatch.setattr(tenant_shares, "_USAGE_SECONDS", 0.1)
    shares = TenantShares(ShareLimits(at_once=4, free_usage=0.5))
    await hold(shares, BOB, 0.0)
    await hold(shares, ADA, 0.2)
    (waiting,) = asked(shares, ADA)
    assert await granted(waiting, *asked(shares, BOB)) == [False, True]
    await asyncio.wait_for(waiting, 1)


async def test_a_tenant_does_not_wait_for_one_that_has_more_requests_open():
    shares = TenantShares(ShareLimits(at_once=4, free_usage=0.1))
    crowd = asked(shares, *[BOB] * 8)
    await granted(*crowd)
    await hold(shares, ADA, 30.0)
    assert await granted(*asked(shares, ADA)) == [True], "the crowd is the other's"
    for task in crowd:
        task.cancel()


async def test_equal_tenants_do_not_wait_for_each_other():
    shares = TenantShares(ShareLimits(at_once=4, free_usage=0.1))
    for owner in (ADA, BOB):
        await shares.acquire(owner)
    for owner in (ADA, BOB):
        shares.add_usage(owner, 0.5)
        shares.release(owner)
    assert await granted(*asked(shares, BOB)) == [True]


async def test_a_tenant_alone_is_not_limited_by_its_usage():
    shares = TenantShares(ShareLimits(at_once=4, free_usage=0.1))
    await hold(shares, ADA, 30.0)
    assert await granted(*asked(shares, ADA)) == [True]


async def test_a_permit_counts_the_time_it_was_held():
    shares = TenantShares(ShareLimits(at_once=4, free_usage=0.01))
    await hold(shares, BOB, 0.0)
    async with Permit(shares, ADA):
        await asyncio.sleep(0.1)
    (waiting,) = asked(shares, ADA)
    assert await granted(waiting) == [False]
    waiting.cancel()


async def test_a_tenant_whose_usage_falls_while_it_is_being_checked_is_not_forgotten(monkeypatch):
    shares = TenantShares(ShareLimits(at_once=4))
    waits = iter([1e-6, 1e-6])
    monkeypatch.setattr(shares, "_seconds_over", lambda _: next(waits, 0.0))
    await asyncio.wait_for(shares.acquire(ADA), 1)
