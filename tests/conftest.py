"""What every test shares: their order, and the repetition of measurements that the host disturbed.

When the host of a virtual machine gives the processors to others ("steal" in `/proc/stat`), bounds
on time fail whatever the code does. So a test that exceeded a bound (`within`) or waited too long
(its own timeout, or one of `asyncio`, `subprocess` or `httpx`) while more than a tenth of the
processor time was stolen is repeated, and the summary says so.

A browser story that waited in vain (`is_worth_repeating`) is told once more, and the summary says
so: beside other tests a page draws late. `scripts/run_tests.py` runs what else failed once more.
"""

import fcntl
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from bathysphere.server.process.garbage import reduce_collections
from bathysphere.testing.stolen_time import StolenTime

pytest_plugins = ["bathysphere.testing.fixtures"]
ROOT = Path(__file__).parents[1]

# How long one example takes says nothing on a busy machine; pytest-timeout bounds the whole test.
# How fast examples are drawn says something about the machine, not about the code.
settings.register_profile(
    "bathysphere", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("bathysphere")

LONGEST = tuple(
    f"tests/{name}"
    for name in (
        "e2e/web/test_stories.py",
        "e2e/web/test_build.py",
        "e2e/",
        "integration/test_eval.py",
        "faults/",
        "conformance/",
        "fuzz/",
        "integration/",
    )
)
"""What runs first, so that no process is left with a long file at the end."""
ATTEMPTS = 4
MAX_STOLEN = 0.1
CALM_SECONDS = 120
"""How long a repetition waits at most for the host to be calm."""
_REPEATED = "repeated"
_TIMEOUT = pytest.StashKey[Any]()
_IS_SLOW = pytest.StashKey[bool]()
_IS_WORTH_REPEATING = pytest.StashKey[bool]()


class TooSlow(AssertionError):
    """A measured time is not within its bound."""


_ABOUT_TIME = (TooSlow, TimeoutError, subprocess.TimeoutExpired, httpx.TimeoutException)


@pytest.fixture(scope="session")
def within() -> Callable[..., None]:
    """Assert that a measured time is below its bound."""

    def check(measured: float, bound: float, *details: object) -> None:
        if not measured < bound:
            raise TooSlow(f"{measured} is not below {bound}", *details)

    return check


_CLIENTS_OF_EARLIER_TESTS: list[Any] = []
"""Kept, because a client with open connections warns when it is collected."""


@pytest.fixture(autouse=True)
def _no_clients_of_earlier_tests() -> Iterator[None]:
    """Start each test without LangChain's OpenAI clients, which are kept by address.

    The next test may get the same port, and its event loop cannot use the connections of this one.
    """
    yield
    module: Any = sys.modules.get("langchain_openai.chat_models._client_utils")
    if module is not None and module._cached_async_httpx_client.cache_info().currsize:
        _CLIENTS_OF_EARLIER_TESTS.append(module._cached_async_httpx_client)
        module._cached_async_httpx_client = lru_cache(module._cached_async_httpx_client.__wrapped__)


@pytest.fixture(autouse=True, scope="module")
def _no_model_server_of_an_earlier_file() -> Iterator[None]:
    """Stop the llama.cpp servers that a file's tests started.

    A model's server is started once for each process, with the context of whoever came first.
    """
    yield
    module: Any = sys.modules.get("bathysphere.models.llamacpp")
    if module is not None:
        module.SERVERS.close()


Fill = Callable[[Path], Any]


@pytest.fixture(scope="session")
def shared_folder(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Fill], tuple[Path, Any]]:
    """Fill a folder once for all processes of this run; those that come later wait for it.

    Gives the folder, and what its function returned, as JSON.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent

    def filled(name: str, fill: Fill) -> tuple[Path, Any]:
        folder, result = place / name, place / f"{name}.json"
        with (place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not result.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                result.write_text(json.dumps(fill(folder)))
        return folder, json.loads(result.read_text())

    return filled


@pytest.fixture(scope="session")
def site(shared_folder: Callable[[str, Fill], tuple[Path, Any]]) -> Path:
    """The documentation site, built without a warning."""

    def build(folder: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")

    return shared_folder("site", build)[0]


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, also where `nohup` or `&` turned it off."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave the modules and tests that are loaded by now out of Python's search for garbage."""
    gc.collect()
    reduce_collections()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first."""

    def rank(item: pytest.Item) -> int:
        places = (n for n, name in enumerate(LONGEST) if item.nodeid.startswith(name))
        return next(places, len(LONGEST))

    items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and again if there is a reason to repeat it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(1, ATTEMPTS + 1):
        item.stash[_IS_SLOW] = item.stash[_IS_WORTH_REPEATING] = False
        stolen = StolenTime()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        reason = _why_again(item, attempt, stolen.share())
        if reason is None:
            break
        item.user_properties.append((_REPEATED, reason))
        _prepare_again(item)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note whether the test failed because of a bound on time."""
    if call.excinfo is not None:
        item.stash[_IS_SLOW] = _is_about_time(call.excinfo.value)
        item.stash[_IS_WORTH_REPEATING] = getattr(call.excinfo.value, "is_worth_repeating", False)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> None:
    """Remember a test's timeout, for its repetitions."""
    item.stash[_TIMEOUT] = settings


def _is_about_time(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_about_time, error.exceptions))
    is_timeout = str(error).startswith("Timeout (>")  # as pytest-timeout words it
    return is_timeout or isinstance(error, _ABOUT_TIME)


def _why_again(item: pytest.Item, attempt: int, stolen: float) -> str | None:
    if item.stash[_IS_WORTH_REPEATING] and attempt == 1:
        return "the story waited in vain for its page"
    if item.stash[_IS_SLOW] and attempt < ATTEMPTS and stolen > MAX_STOLEN:
        return f"{stolen:.0%} of the processor time was stolen"
    return None


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
