"""A pool of killable processes that parse untrusted pages.

HTML and PDF parsers are large, native and easily made slow. Here a page that loops, allocates or
crashes costs one child process: the deadline, a cancelled request and the kernel's limits all kill
it. The pool has its own threads, so the default executor stays free.
"""

import atexit
import json
import math
import os
import selectors
import subprocess
import sys
import threading
import time
from asyncio import CancelledError, wrap_future
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import IO, Any, cast

from bathysphere.core.errors import ConfigError
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.parser_process import FRAME
from bathysphere.tools.parsing_budget import LOCAL, ParsingBudget, ParsingQuota, Requester
from bathysphere.tools.readable import MAX_TEXT, Readable

MAX_ANSWER = 6 * MAX_TEXT + 100_000  # JSON in ASCII: at most six bytes per UTF-16 unit
_CHUNK = 1 << 16
_CHILD = "bathysphere.tools.parser_process"
_RAISED = 1
"""Exit status of a parser that raised."""
_LOOK_AGAIN_S = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class ParseLimits:
    """Limits of parsing one page, and the size of the pool."""

    deadline_s: float = 10.0
    start_s: float = 30.0
    """How long a process may take to load its parsers."""
    restart_cpu_s: float = 1.0
    """What a requester is booked for whose page kills its process: the next one has to load."""
    cpu_s: int = 10
    memory: int = 1 << 30
    processes: int = 8
    keep_warm: int = 4
    idle_s: float = 120.0
    """How long a process waits for its next page before it exits."""
    requests: int = 200
    """Number of pages after which a process is replaced."""
    nice: int = 5
    slow_s: float = 1.0
    """After this much CPU a page continues at the lowest priority, so quick pages go first."""
    quota: ParsingQuota = field(default_factory=ParsingQuota)
    target: str = "bathysphere.tools.readable:read_body"
    preload: tuple[str, ...] = ("trafilatura",)


class _Killed(Exception):
    """The process ended before it responded."""


class _Parser:
    """A child process and its two pipes."""

    def __init__(self, limits: ParseLimits) -> None:
        if not sys.executable:
            raise ConfigError("Cannot parse pages: sys.executable is not set")
        options = {k: v for k, v in asdict(limits).items() if k != "quota"}
        self._limits = limits
        self.requests = 0
        self._is_ready = False
        self._waits_since = time.monotonic()
        self._cpu_before = 0.0
        self.is_demoted = False
        self.process = subprocess.Popen(  # noqa: S603  # this Python, our own module
            [sys.executable, "-B", "-P", "-s", "-m", _CHILD, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"},
            bufsize=0,
            # Not to receive the terminal's Ctrl-C. A session of its own would also be a scheduling
            # group of its own (autogroup), in which its low priority has no effect.
            process_group=0,
        )
        self._input = cast("IO[bytes]", self.process.stdin)
        self._output = cast("IO[bytes]", self.process.stdout)
        os.set_blocking(self._input.fileno(), False)
        os.set_blocking(self._output.fileno(), False)

    @property
    def is_usable(self) -> bool:
        is_fresh = time.monotonic() - self._waits_since < self._limits.idle_s
        return is_fresh and self.process.poll() is None

    def ask(self, head: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Send a request and read the response.

        Raises:
            _Killed: The process ended, or took too long and must be killed.
        """
        self.requests += 1
        raw = json.dumps(head).encode("ascii")
        request = FRAME.pack(len(raw)) + raw + FRAME.pack(len(body)) + body
        self._cpu_before = self._cpu_s()
        try:
            answer = json.loads(self._exchange(request, deadline_s=self._limits.deadline_s))
        except (OSError, ValueError) as error:
            raise _Killed from error
        if not _is_answer(answer):
            raise _Killed
        self._waits_since = time.monotonic()
        return cast("dict[str, Any]", answer)

    def start(self) -> None:
        """Wait until the process is ready; loading its parsers does not count for the page.

        Raises:
            _Killed: It did not start.
        """
        if not self._is_ready:
            self._exchange(b"", deadline_s=self._limits.start_s)
            self._is_ready = True

    def end(self) -> None:
        """Kill the process and wait for its exit."""
        self.process.kill()
        self.process.wait()
        self._input.close()
        self._output.close()

    def _exchange(self, request: bytes, *, deadline_s: float) -> bytes:
        left, answer = memoryview(request), bytearray()
        began = time.monotonic()
        with selectors.DefaultSelector() as ready:
            if left:
                ready.register(self._input, selectors.EVENT_WRITE)
            ready.register(self._output, selectors.EVENT_READ)
            while (length := _length(answer)) is None or len(answer) < FRAME.size + length:
                for key, _ in ready.select(
                    self._select_timeout(time.monotonic() - began, deadline_s)
                ):
                    if key.fileobj is self._input:
                        left = left[os.write(self._input.fileno(), left[:_CHUNK]) :]
                        if not left:
                            ready.unregister(self._input)
                    else:
                        answer += self._read()
        return bytes(answer[FRAME.size :])

    def _read(self) -> bytes:
        chunk = os.read(self._output.fileno(), _CHUNK)
        if not chunk:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=1)  # so that its exit status is known
            raise _Killed
        return chunk

    def _select_timeout(self, elapsed: float, deadline_s: float) -> float:
        """Return how long to wait next; lowers the priority of a slow page."""
        if elapsed >= deadline_s:
            raise _Killed
        if not self._is_ready:
            return deadline_s - elapsed
        left = self._limits.slow_s - (self._cpu_s() - self._cpu_before)
        if left > 0:
            return min(max(left, _LOOK_AGAIN_S), deadline_s - elapsed)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, 19)
            self.is_demoted = True
        return deadline_s - elapsed

    def _cpu_s(self) -> float:
        """Return the CPU time of the process; without such a clock, the time that passes."""
        try:
            return time.clock_gettime(_cpu_clock(self.process.pid))
        except OSError:
            return time.monotonic()


@dataclass(kw_only=True)
class _Job:
    """A request in progress, which may be cancelled from another thread."""

    head: dict[str, Any]
    body: bytes
    requester: Requester
    parser: _Parser | None = None
    is_cancelled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, parser: _Parser) -> None:
        with self.lock:
            if self.is_cancelled:
                raise _Killed
            self.parser = parser

    def cancel(self) -> None:
        with self.lock:
            self.is_cancelled = True
            if self.parser is not None:
                self.parser.process.kill()


class ParserPool:
    """The parsers of one process. None is started before the first page."""

    def __init__(self, limits: ParseLimits | None = None) -> None:
        self.limits = limits or ParseLimits()
        self.budget = ParsingBudget(self.limits.quota)
        self._threads = ThreadPoolExecutor(self.limits.processes, thread_name_prefix="parser")
        self._lock = threading.Lock()
        self._warm: list[_Parser] = []
        self._is_warming = False
        self._is_closed = False

    async def read(
        self,
        body: bytes,
        content_type: str,
        charset: str | None,
        url: str,
        *,
        requester: Requester = LOCAL,
    ) -> Readable:
        """Extract the readable text of a body.

        Raises:
            FetchFailed: It contains no text, or takes too much time or memory to parse.
            ParsingBudgetExceeded: The requester's pages took too much CPU.
            ConfigError: The extra `research` is not installed.
        """
        head = {"content_type": content_type, "charset": charset, "url": url}
        async with self.budget.turn(requester):
            job = _Job(head=head, body=body, requester=requester)
            running = self._threads.submit(self._run, job)
            try:
                answer = await wrap_future(running)
            except CancelledError:
                job.cancel()
                raise
        return _readable(answer)

    def read_now(self, body: bytes, content_type: str, name: str) -> Readable:
        """Extract the readable text of a local file and wait for it, without a budget.

        Raises:
            FetchFailed: It contains no text, or takes too much time or memory to parse.
            ConfigError: The extra `research` is not installed.
        """
        head = {"content_type": content_type, "charset": None, "url": name}
        return _readable(self._run(_Job(head=head, body=body, requester=LOCAL)))

    def warm_up(self) -> None:
        """Start a process while the page is still being fetched, unless one is idle."""
        with self._lock:
            if self._warm or self._is_warming or self._is_closed:
                return
            self._is_warming = True
        self._threads.submit(self._add_warm)

    def close(self) -> None:
        """Kill idle processes; busy ones end with their requests."""
        with self._lock:
            self._is_closed = True
            ending, self._warm = self._warm, []
        for parser in ending:
            parser.end()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: _Job) -> dict[str, Any]:
        parser = self._take()
        try:
            job.take(parser)
            parser.start()
            answer = self._ask(parser, job)
        except _Killed:
            parser.end()
            self.warm_up()  # for the next page
            raise _failure(parser.process.returncode, job.head["url"]) from None
        self._put_back(parser)
        return answer

    def _ask(self, parser: _Parser, job: _Job) -> dict[str, Any]:
        """Parse, and book the reported CPU time, or the elapsed time if the process was killed."""
        began = time.monotonic()
        spent = math.inf
        try:
            answer = parser.ask(job.head, job.body)
            spent = answer["cpu"]
        except _Killed:
            self.budget.book(job.requester, self.limits.restart_cpu_s)
            raise
        finally:
            self.budget.book(job.requester, min(spent, time.monotonic() - began))
        return answer

    def _take(self) -> _Parser:
        with self._lock:
            waiting = self._warm.pop() if self._warm else None
        if waiting is None:
            return _Parser(self.limits)
        if waiting.is_usable:
            return waiting
        waiting.end()
        return self._take()

    def _put_back(self, parser: _Parser) -> None:
        with self._lock:
            is_kept = (
                not self._is_closed
                and not parser.is_demoted  # only root could raise its priority again
                and len(self._warm) < self.limits.keep_warm
                and parser.requests < self.limits.requests
            )
            if is_kept:
                self._warm.append(parser)
        if not is_kept:
            parser.end()

    def _add_warm(self) -> None:
        try:
            self._put_back(_Parser(self.limits))
        finally:
            self._is_warming = False


@cache
def shared_parsers(limits: ParseLimits) -> ParserPool:
    """Return this process's parser pool with these limits; closed at exit."""
    pool = ParserPool(limits)
    atexit.register(pool.close)
    return pool


def _cpu_clock(pid: int) -> int:
    """Return the clock of another process's CPU time, as `clock_getcpuclockid` does on Linux."""
    return (~pid << 3) | 2


def _length(answer: bytearray) -> int | None:
    if len(answer) < FRAME.size:
        return None
    length: int = FRAME.unpack_from(answer)[0]
    if length > MAX_ANSWER:
        raise _Killed
    return length


def _is_answer(answer: object) -> bool:
    """Whether a response is valid: a page may have compromised its parser."""
    if not isinstance(answer, dict) or not isinstance(answer.get("cpu"), float):
        return False
    result = answer.get("result")
    return (
        (isinstance(result, list) and len(result) == 3)
        or "config" in answer
        or (isinstance(answer.get("failed"), str) and isinstance(answer.get("reason"), str))
    )


def _readable(answer: dict[str, Any]) -> Readable:
    if "result" in answer:
        text, title, published = answer["result"]
        return Readable(str(text), str(title), str(published) if published else None)
    if "config" in answer:
        raise ConfigError(str(answer["config"]), hint=str(answer.get("hint")))
    raise FetchFailed(answer["failed"], reason=answer["reason"])


def _failure(status: int, url: str) -> FetchFailed:
    if status == _RAISED:
        return FetchFailed(f"Cannot parse {url}", reason="unreadable")
    return FetchFailed(
        f"{url} takes too much time or memory to parse",
        reason="too_complex",
        hint="the page may be hostile; choose another source",
    )
