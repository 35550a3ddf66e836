"""What a run used: joined from many places without counting twice."""

import threading
from contextlib import ExitStack

from hypothesis import given, settings
from hypothesis import strategies as st

from bathysphere.core.usage import Limits, Meter, join, total


class HandClock:
    now = 0.0

    def monotonic(self):
        return self.now


counts = st.lists(st.integers(0, 9), min_size=3, max_size=3)
usages = st.fixed_dictionaries(
    {
        "run": st.just("r"),
        "by": st.dictionaries(st.sampled_from(["", "tools:a", "tools:b"]), counts),
        "seconds": st.floats(0, 100),
        "stopped": st.none(),
    }
)


@given(usages, usages, usages)
def test_joining_does_not_care_for_order_or_repetition(a, b, c):
    assert join(a, b) == join(b, a)
    assert join(join(a, b), c) == join(a, join(b, c))
    assert join(a, a) == a


@given(usages)
def test_joining_does_not_touch_what_it_joins(a):
    before = {place: list(counts) for place, counts in a["by"].items()}
    meter = Meter("r")
    meter.learn(a)
    meter.take("model_calls", "", Limits())
    assert a["by"] == before


def test_a_newer_run_replaces_an_older_one():
    old = {"run": "1", "by": {"": [5, 5, 5]}, "seconds": 9.0, "stopped": None}
    new = {"run": "2", "by": {"": [1, 0, 0]}, "seconds": 0.1, "stopped": None}
    assert join(old, new) == new


def test_a_hundred_threads_get_exactly_what_is_allowed():
    meter, taken = Meter("r"), []

    def work(place):
        for _ in range(50):
            if meter.take("model_calls", place, Limits(model_calls=777)):
                taken.append(place)

    threads = [threading.Thread(target=work, args=(f"p{n}",)) for n in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 777
    assert meter.stopped == {"limit": "model_calls", "max": 777}


def test_time_counts_once_however_many_work():
    class Clock:
        time = 0.0

        def monotonic(self):
            return self.time

    clock = Clock()
    meter = Meter("r", clock)
    with meter.working():
        clock.time = 2
        with meter.working():
            clock.time = 5
    clock.time = 100  # nobody works
    with meter.working():
        clock.time = 101
    assert total(meter.usage("")).seconds == 6
    assert meter.remaining_seconds(Limits(seconds=10)) == 4


def test_a_run_that_has_not_begun_used_nothing():
    assert total(None) == (0, 0, 0, 0.0, None, {})


# ── working time ──

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "leave", "learn", "publish", "pass"]),
        st.integers(0, 7),
        st.floats(0, 20, allow_nan=False),
    ),
    max_size=120,
)


@given(STEPS)
@settings(max_examples=400, deadline=None)
def test_working_time_is_counted_once_in_any_interleaving(steps):
    """Up to eight subagents work, publish what was used and learn it back, in any order."""
    clock, published = HandClock(), [None] * 8
    meter = Meter("r", clock)
    working: dict[int, ExitStack] = {}
    busy, union = [0.0] * 8, 0.0
    for what, who, seconds in steps:
        if what == "enter" and who not in working:
            working[who] = ExitStack()
            working[who].enter_context(meter.working())
        elif what == "leave" and who in working:
            working.pop(who).close()
        elif what == "learn":
            meter.learn(published[who])
        elif what == "publish":
            published[who] = meter.usage(str(who))
        else:
            clock.now += seconds
            union += seconds if working else 0
            for other in working:
                busy[other] += seconds
        counted = total(meter.usage("")).seconds
        assert counted <= union + 0.001
        assert counted <= clock.now * 8 + 0.001
        assert counted >= max(busy) - 0.002


@given(st.lists(st.floats(0, 5, allow_nan=False), min_size=1, max_size=40))
def test_a_run_that_goes_on_elsewhere_keeps_its_seconds(seconds):
    """What another process counted is the beginning, once."""
    clock = HandClock()
    usage, worked = None, 0.0
    for step in seconds:
        meter = Meter("r", clock)
        with meter.working():
            meter.learn(usage)
            clock.now += step
            meter.learn(usage)
            usage = meter.usage("")
        worked += step
        assert abs(total(usage).seconds - worked) <= 0.001 * len(seconds)
