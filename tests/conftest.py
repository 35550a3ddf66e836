"""What every test shares, and the repetition of tests that the host disturbed.

Many tests look at a clock. When the host gives the processors to other machines ("steal" in
`/proc/stat`), they fail whatever the code does. So a test that failed while more than a tenth of
the processor time was stolen is repeated, and the summary says so. Where nothing is stolen, every
failure counts.
"""

import time
from typing import Any

import psutil
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

pytest_plugins = ["bathysphere.testing.fixtures"]

# How long one example takes says nothing on a busy machine; pytest-timeout bounds the whole test.
settings.register_profile("bathysphere", deadline=None)
settings.load_profile("bathysphere")

ATTEMPTS = 4
MAX_STOLEN = 0.1
CALM_SECONDS = 120
"""How long a repetition waits at most for the host to be calm."""
_REPEATED = "repeated"
_TIMEOUT = pytest.StashKey[Any]()


class StolenTime:
    """The share of processor time that was stolen since this object was made."""

    def __init__(self) -> None:
        self._began = psutil.cpu_times()

    def share(self) -> float:
        now = psutil.cpu_times()
        passed = sum(now) - sum(self._began)
        stolen = getattr(now, "steal", 0.0) - getattr(self._began, "steal", 0.0)
        return stolen / passed if passed else 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and again if it failed on a disturbed machine."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, ATTEMPTS + 1):
        stolen = StolenTime()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        has_failed = any(report.failed for report in reports)
        if not has_failed or attempt == ATTEMPTS or (share := stolen.share()) <= MAX_STOLEN:
            break
        item.user_properties.append((_REPEATED, f"{share:.0%} of the processor time was stolen"))
        _prepare_again(item)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Remember a test's timeout, for its repetitions."""
    item.stash[_TIMEOUT] = settings


def _prepare_again(item: Any) -> None:
    """Wait for a calm moment, forget the fixtures of the failed attempt, and set a new timeout."""
    item.ihook.pytest_timeout_cancel_timer(item=item)
    deadline = time.monotonic() + CALM_SECONDS
    while time.monotonic() < deadline:
        stolen = StolenTime()
        time.sleep(2)
        if stolen.share() <= MAX_STOLEN:
            break
    item._initrequest()
    if _TIMEOUT in item.stash:
        item.ihook.pytest_timeout_set_timer(item=item, settings=item.stash[_TIMEOUT])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the tests that were repeated."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            for name, reason in report.user_properties:
                if name == _REPEATED:
                    terminalreporter.write_line(f"repeated: {report.nodeid}: {reason}")
