"""Measure how long work occupies the event loop."""

from collections.abc import Awaitable, Callable, Generator
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")

_REPORT_SECONDS = 0.002
"""Shorter times are added up, because reporting each step would cost more than the step."""


class LoopTime(Awaitable[T]):
    """Awaits some work and reports the seconds it runs, without those it waits."""

    def __init__(self, work: Awaitable[T], report: Callable[[float], None]) -> None:
        self._work = work
        self._report = report

    def __await__(self) -> Generator[Any, Any, T]:
        """Run the work."""
        return _MeasuredSteps(self._work.__await__(), self._report)


class _MeasuredSteps(Generator[Any, Any, T]):
    """The steps of a coroutine between its waits."""

    def __init__(self, steps: Generator[Any, Any, T], report: Callable[[float], None]) -> None:
        self._steps = steps
        self._report = report
        self._unreported = 0.0

    def send(self, value: Any, /) -> Any:
        began = perf_counter()
        try:
            return self._steps.send(value)
        finally:
            self._add(perf_counter() - began)

    def throw(self, *error: Any) -> Any:
        began = perf_counter()
        try:
            return self._steps.throw(*error)
        finally:
            self._add(perf_counter() - began)

    def _add(self, seconds: float) -> None:
        self._unreported += seconds
        if self._unreported >= _REPORT_SECONDS:
            self._report(self._unreported)
            self._unreported = 0.0
