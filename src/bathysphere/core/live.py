"""Objects shared by the agents of one run while they work in this process.

A run is a tree: the main agent and its subagents, several of which may run concurrently. Each has
its own graph state, so whatever applies to the whole tree (a limit, the newest text of a file)
needs a shared object, kept here by run id. Checkpoints remain the source of truth: nothing here
outlives the process, and a run that continues in another process starts from its checkpoint.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class RecentRuns(Generic[T]):
    """One shared object per run, kept until it is dropped or too many newer runs exist."""

    def __init__(self, make: Callable[[str], T], *, keep: int = 4096) -> None:
        self._make = make
        self._keep = keep
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, T] = OrderedDict()

    def of(self, run_id: str) -> T:
        """Return the run's object, creating it if necessary."""
        with self._lock:
            shared = self._runs.get(run_id)
            if shared is None:
                shared = self._runs[run_id] = self._make(run_id)
                if len(self._runs) > self._keep:
                    self._runs.popitem(last=False)
            else:
                self._runs.move_to_end(run_id)
            return shared

    def forget(self, run_id: str) -> None:
        """Drop the object of a finished run."""
        with self._lock:
            self._runs.pop(run_id, None)
