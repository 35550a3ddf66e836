"""Several API processes on one port: they share its socket, and one that dies is replaced.

The parent forks before anything is opened. Each child is a whole API process; the parent starts
them, passes signals on and waits for them.
"""

import ctypes
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

_log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PAUSE_SECONDS = 1.0
"""Between attempts to replace a process that does not start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiProcess:
    """This process among those that share the port."""

    number: int
    report_ready: Callable[[], object]


def fork_api_processes(count: int) -> ApiProcess:
    """Start processes, and return in each of them.

    Raises:
        SystemExit: In the parent, when all have ended.
    """
    supervisor = _Supervisor()
    waiting = deque(range(count))
    while True:
        while waiting and supervisor.may_start():
            if (this_process := supervisor.start(waiting.popleft())) is not None:
                return this_process
        waiting.append(supervisor.wait_for_one())


class _Supervisor:
    """The parent of the processes."""

    def __init__(self) -> None:
        self._is_stopping = False
        self._has_served = False
        self._numbers: dict[int, int] = {}
        for which in _SIGNALS:
            signal.signal(which, self._on_signal)

    def may_start(self) -> bool:
        """Whether another process may start: not while stopping, nor if the first did not serve."""
        return not self._is_stopping and (self._has_served or not self._numbers)

    def start(self, number: int) -> ApiProcess | None:
        """Start a process, and wait until it serves; returns its description in the process."""
        sys.stdout.flush()  # or each process would print what is buffered
        parent = os.getpid()
        with _signals_held():
            if self._is_stopping:  # since `may_start`: nobody would tell the new process
                return None
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                _become_child(parent)
            else:
                self._numbers[pid] = number
        if pid == 0:
            os.close(reader)
            return ApiProcess(number=number, report_ready=partial(os.write, writer, b"."))
        os.close(writer)
        self._has_served |= os.read(reader, 1) == b"."
        os.close(reader)
        return None

    def wait_for_one(self) -> int:
        """Wait for the end of a process that has to be replaced, and return its number.

        Raises:
            SystemExit: No process is left, or the first did not start.
        """
        while self._numbers:
            pid, status = os.wait()
            code = os.waitstatus_to_exitcode(status)
            number = self._numbers.pop(pid)
            if self._is_stopping:
                continue
            if not self._has_served:
                raise SystemExit(code)  # it has said why
            _log.warning("API process %d ended with %d; starting another", number, code)
            time.sleep(_PAUSE_SECONDS)
            return number
        raise SystemExit(0)

    def _on_signal(self, which: int, _: object) -> None:
        self._is_stopping = True
        for pid in self._numbers:
            os.kill(pid, which)


def _become_child(parent: int) -> None:
    os.setpgid(0, 0)  # a group of its own: Ctrl-C reaches it once, through the parent
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it had already ended
            os._exit(1)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold signals back until a new process is known, so that they reach it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
