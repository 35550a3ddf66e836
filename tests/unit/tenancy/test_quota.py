"""Quotas: what passes them is refused, what fits or gives back is not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bathysphere.tenancy.errors import QuotaExceeded
from bathysphere.tenancy.quota import Quota, StoredMeter, Usage, check


class HandClock:
    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds


def test_a_quota_counts_each_thing_by_itself():
    quota = Quota(bytes=10, objects=2, runs=1)
    check(quota, Usage(bytes=9, objects=1), Usage(bytes=1, objects=1))
    for more in (Usage(bytes=2), Usage(objects=2), Usage(runs=2)):
        with pytest.raises(QuotaExceeded):
            check(quota, Usage(bytes=9, objects=1), more)


def test_what_gives_back_is_allowed_above_the_quota():
    check(Quota(bytes=10, objects=1), Usage(bytes=50, objects=5), Usage(bytes=-1, objects=0))


def test_no_quota_measures_nothing():
    meter = StoredMeter(lambda tenant: pytest.fail("measured"), clock=HandClock())
    with meter.storing("acme", Quota(), Usage(bytes=10**12)):
        pass


def test_the_meter_counts_what_is_stored_and_forgets_what_failed():
    meter = StoredMeter(lambda tenant: Usage(bytes=4), clock=HandClock())
    quota = Quota(bytes=10)
    with pytest.raises(ZeroDivisionError), meter.storing("acme", quota, Usage(bytes=6)):
        raise ZeroDivisionError
    with meter.storing("acme", quota, Usage(bytes=6)):
        pass
    with pytest.raises(QuotaExceeded), meter.storing("acme", quota, Usage(bytes=1)):
        pytest.fail("stored")
    with meter.storing("zenith", quota, Usage(bytes=6)):  # a tenant of its own
        pass


def test_what_others_stored_is_seen_at_the_next_count():
    clock, stored = HandClock(), [Usage()]
    meter = StoredMeter(lambda tenant: stored[0], clock=clock, refresh_seconds=60)
    quota = Quota(objects=2)
    with meter.storing("acme", quota, Usage(objects=1)):
        pass
    stored[0] = Usage(objects=2)
    clock.seconds = 61
    with pytest.raises(QuotaExceeded), meter.storing("acme", quota, Usage(objects=1)):
        pytest.fail("stored")


def test_writers_at_one_time_cannot_pass_the_quota_together():
    meter = StoredMeter(lambda tenant: Usage(), clock=HandClock())
    inside, refused = threading.Barrier(10), []

    def write():
        try:
            with meter.storing("acme", Quota(objects=10), Usage(objects=1)):
                inside.wait(5)
        except QuotaExceeded:
            refused.append(1)

    threads = [threading.Thread(target=write) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(refused) == 20


def test_a_tenant_that_is_slow_to_count_holds_up_nobody_else_and_is_counted_once():
    release, counted = threading.Event(), []

    def measure(tenant: str) -> Usage:
        counted.append(tenant)
        if tenant == "large":
            assert release.wait(10)
        return Usage(bytes=1)

    meter = StoredMeter(measure, clock=HandClock())
    more, quota = Usage(bytes=1), Quota(bytes=100)

    def store(tenant: str) -> None:
        with meter.storing(tenant, quota, more):
            pass

    with ThreadPoolExecutor(4) as threads:
        slow = [threads.submit(store, "large") for _ in range(3)]
        threads.submit(store, "small").result(timeout=5)
        assert not any(one.done() for one in slow)
        release.set()
        for one in slow:
            one.result(timeout=5)
    assert counted.count("large") == 1
