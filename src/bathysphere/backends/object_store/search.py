"""Literal search over many objects. Bodies are cached by key and version.

Cache misses are read in parallel by a pool; cached bodies are scanned on the calling thread, which
is faster. Bytes are compared before anything is decoded. A search that reaches its deadline or
budget returns what it found, marked as truncated.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from deepagents.backends.protocol import GrepMatch, GrepResult

from bathysphere.backends.object_store.index import SearchIndex, WorkspaceIndex
from bathysphere.backends.object_store.objects import Changed, Meta, StorageFailed, StoredObjects
from bathysphere.backends.object_store.windows import NotText, lines_of
from bathysphere.core.clock import Clock

_SNIFF = 8192
_MAX_LINE = 2_000
_SHARE_FOR_THE_INDEX = 0.7
"""Fraction of a search's time that may be spent on the index."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchLimits:
    """Limits of a search."""

    workers: int = 64
    max_file: int = 4 << 20
    """Larger objects are searched in chunks and not cached."""
    budget_bytes: int = 256 << 20
    """Maximum number of bytes that one search reads from the store."""
    seconds: float = 12.0
    cache_bytes: int = 64 << 20
    index_from: int = 20_000
    """Number of objects from which a workspace gets an index."""


class BodyCache:
    """An LRU cache of bodies, one version per key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bodies: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, meta: Meta) -> bytes | None:
        """Return the body of this version, or None."""
        with self._lock:
            kept = self._bodies.get(meta.key)
            if kept is None or kept[0] != meta.version.token:
                return None
            self._bodies.move_to_end(meta.key)
            return kept[1]

    def put(self, meta: Meta, body: bytes) -> None:
        """Cache a body."""
        with self._lock:
            old = self._bodies.pop(meta.key, None)
            self._size += len(body) - (len(old[1]) if old else 0)
            self._bodies[meta.key] = (meta.version.token, body)
            while self._size > self._most:
                _, (_, dropped) = self._bodies.popitem(last=False)
                self._size -= len(dropped)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object to search, and the path to report its matches with."""

    path: str
    meta: Meta


_Begun = tuple[Candidate, "bytes | Future[bytes | None] | None"]


class Search:
    """Literal search over objects; one instance per backend."""

    def __init__(self, objects: StoredObjects, limits: SearchLimits, clock: Clock) -> None:
        self._objects = objects
        self._limits = limits
        self._clock = clock
        self._cache = BodyCache(limits.cache_bytes)
        self._index = SearchIndex(objects)
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def grep(
        self,
        pattern: str,
        candidates: Sequence[Candidate],
        *,
        max_count: int | None,
        index_at: str,
    ) -> GrepResult:
        """Return all matching lines by path and line; `index_at` is the prefix of an index."""
        needle = pattern.encode()
        run = _Run(self._limits, self._clock)
        index = None
        if len(candidates) >= self._limits.index_from:
            index = self._index.of(index_at)
            candidates = [c for c in candidates if index.may_hold(c.meta, needle)]
        matches: list[GrepMatch] = []
        is_full = False
        for match in self._matches(pattern, needle, candidates, index, run):
            if max_count is not None and len(matches) >= max_count:
                is_full = True
                break
            matches.append(match)
        if index is not None:
            index.save()
        return GrepResult(
            error=f"Error: {run.failed} files could not be read" if run.failed else None,
            matches=matches,
            truncated=is_full or run.is_cut or bool(run.failed),
        )

    def _matches(
        self,
        pattern: str,
        needle: bytes,
        candidates: Sequence[Candidate],
        index: WorkspaceIndex | None,
        run: "_Run",
    ) -> Iterator[GrepMatch]:
        for candidate, body in self._bodies(candidates, run):
            if body is None:
                yield from self._large(candidate, needle, run)
                continue
            if index is not None and run.may_remember():
                index.add(candidate.meta, body)
            if needle in body:
                yield from matching_lines(candidate.path, body, pattern)

    def _large(self, candidate: Candidate, needle: bytes, run: "_Run") -> Iterator[GrepMatch]:
        """Search an object in chunks, because it is too large for memory."""
        try:
            for number, line in enumerate(lines_of(self._objects.chunks(candidate.meta, 0)), 1):
                if number == 1 and b"\0" in line[:_SNIFF]:
                    return
                if needle in line:
                    text = line.decode("utf-8", "replace").rstrip("\r\n")
                    yield {"path": candidate.path, "line": number, "text": text[:_MAX_LINE]}
                if number % 10_000 == 0 and run.is_over():
                    return
        except (Changed, StorageFailed, NotText):
            run.fail()

    def _bodies(
        self, candidates: Sequence[Candidate], run: "_Run"
    ) -> Iterator[tuple[Candidate, bytes | None]]:
        """Yield bodies in the order of the candidates, with a bounded number of reads ahead.

        None stands for an object that is too large to be read whole.
        """
        ahead: deque[_Begun] = deque()
        waiting = (candidate for candidate in candidates if candidate.meta.size)
        is_more = True
        try:
            while is_more or ahead:
                is_more = is_more and self._fill(ahead, waiting, run)
                if not ahead:
                    return
                candidate, body = ahead.popleft()
                if body is None:
                    yield candidate, None
                    continue
                if isinstance(body, Future):
                    body = run.wait(body)
                if body is not None and b"\0" not in body[:_SNIFF]:
                    yield candidate, body
        finally:
            for _, begun in ahead:
                if isinstance(begun, Future):
                    begun.cancel()

    def _fill(self, ahead: "deque[_Begun]", waiting: Iterator[Candidate], run: "_Run") -> bool:
        """Start reads until enough are in flight; returns whether there may be more."""
        while len(ahead) < 2 * self._limits.workers:
            candidate = None if run.is_over() else next(waiting, None)
            if candidate is None:
                return False
            ahead.append((candidate, self._begin(candidate, run)))
        return True

    def _begin(self, candidate: Candidate, run: "_Run") -> "bytes | Future[bytes | None] | None":
        kept = self._cache.get(candidate.meta)
        if kept is not None:
            return kept
        run.spend(candidate.meta.size)
        if candidate.meta.size > self._limits.max_file:
            return None
        return self._executor().submit(self._read, candidate.meta, run)

    def _read(self, meta: Meta, run: "_Run") -> bytes | None:
        if run.is_cut:
            return None
        try:
            got = self._objects.get(meta.key)
        except (Changed, StorageFailed):
            run.fail()
            return None
        if got is None:
            return None
        self._cache.put(got.meta, got.data)
        return got.data

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._limits.workers, thread_name_prefix="search")
            return self._pool


class _Run:
    """The time and bytes used by one search."""

    def __init__(self, limits: SearchLimits, clock: Clock) -> None:
        self._clock = clock
        now = clock.monotonic()
        self._end = now + limits.seconds
        self._remember_until = now + limits.seconds * _SHARE_FOR_THE_INDEX
        self._left = limits.budget_bytes
        self.is_cut = False
        self.failed = 0
        self._lock = threading.Lock()

    def is_over(self) -> bool:
        """Whether its time or byte budget is used up."""
        if self._left < 0 or self._clock.monotonic() >= self._end:
            self.is_cut = True
        return self.is_cut

    def spend(self, size: int) -> None:
        """Count a read."""
        self._left -= size

    def may_remember(self) -> bool:
        """Whether there is time left for the index."""
        return self._clock.monotonic() < self._remember_until

    def fail(self) -> None:
        """Count a file that could not be read."""
        with self._lock:
            self.failed += 1

    def wait(self, future: "Future[bytes | None]") -> bytes | None:
        """Wait for a body until the deadline."""
        try:
            return future.result(max(0.0, self._end - self._clock.monotonic()))
        except TimeoutError:
            self.is_cut = True
            return None


def matching_lines(path: str, body: bytes, pattern: str) -> Iterator[GrepMatch]:
    """Yield the lines of a body that contain the pattern; none if it is not text."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if pattern in line:
            yield {"path": path, "line": number, "text": line.removesuffix("\r")[:_MAX_LINE]}
