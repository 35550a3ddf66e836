"""Run the tests: most side by side, then those that measure time, then once more what failed.

Those that measure time leave a processor idle half of the time. What is given as `--beside` runs
meanwhile, only where nothing else wants to.

A test that fails beside others and passes alone is listed at the end, and the run passes: on two
busy cores one of ten thousand waits in vain. More than a few failures are not repeated.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

# A third process works while two wait for a server or a page.
PARALLEL = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
PATIENT = ("-o", "timeout=600")
MAX_REPEATED = 5
_PASSED, _SOME_FAILED, _NONE_SELECTED = 0, 1, 5


@dataclass
class Part:
    """One call of pytest, and the folder where it keeps which tests failed."""

    paths: list[str]
    cache: Path
    options: tuple[str, ...] = ()
    beside: "Part | None" = None
    """What runs at the same time, without disturbing these tests."""
    ended: int = _PASSED

    def run(self) -> None:
        """Run its tests."""
        with contextlib.nullcontext() if self.beside is None else self.beside.running_idly():
            self.ended = self._pytest(*self.options, "--durations=25")

    @contextlib.contextmanager
    def running_idly(self) -> Iterator[None]:
        """Run its tests at the lowest priority during a block; print what they did after it."""
        output = self.cache.with_suffix(".log")
        with output.open("w") as file:
            process = subprocess.Popen(
                self._command(*self.options, "--durations=25"),
                stdout=file,
                stderr=file,
                preexec_fn=_be_idle,
            )
            try:
                yield
                self.ended = process.wait()
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        print(output.read_text(), flush=True)

    def failed(self) -> list[str]:
        """The tests that failed at the last run."""
        file = self.cache / "v" / "cache" / "lastfailed"
        return sorted(json.loads(file.read_text())) if file.exists() else []

    def run_failed(self) -> None:
        """Run the failed tests once more, one at a time."""
        self.ended = self._pytest("--last-failed", "--last-failed-no-failures=none")

    def _pytest(self, *options: str) -> int:
        return subprocess.run(self._command(*options), check=False).returncode

    def _command(self, *options: str) -> list[str]:
        cache = f"cache_dir={self.cache}"
        return [sys.executable, "-m", "pytest", "-o", cache, *options, *self.paths]


def _be_idle() -> None:
    """Let this process and its children run only where no other wants to."""
    os.setsid()  # Linux shares the processors among sessions first
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def run(parts: list[Part], *, is_repeating: bool = True) -> int:
    """Run all parts, whatever the others end with, and what failed once more; 0 if all passed.

    A part may have none of the selected tests, but not every part.
    """
    for part in parts:
        part.run()
    parts = [each for part in parts for each in (part, part.beside) if each is not None]
    failed = [test for part in parts for test in part.failed()]
    may_repeat = all(part.ended in (_PASSED, _SOME_FAILED, _NONE_SELECTED) for part in parts)
    if is_repeating and may_repeat and 0 < len(failed) <= MAX_REPEATED:
        _repeat([part for part in parts if part.ended == _SOME_FAILED], failed)
    return max(
        (part.ended for part in parts if part.ended != _NONE_SELECTED), default=_NONE_SELECTED
    )


def _repeat(parts: list[Part], failed: list[str]) -> None:
    print(f"\nonce more, alone: {', '.join(failed)}", flush=True)
    for part in parts:
        part.run_failed()
    still = {test for part in parts for test in part.failed()}
    for test in failed:
        print(f"{'failed twice' if test in still else 'failed once, passed alone'}: {test}")


def main() -> None:
    """Run the tests of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", help="tests that run side by side")
    parser.add_argument("--alone", nargs="*", default=[], help="tests that run one at a time")
    parser.add_argument("--beside", nargs="*", default=[], help="tests that run while those do")
    parser.add_argument("--markers", default="", help="run only what pytest selects by this")
    parser.add_argument("--no-repeat", action="store_true", help="count every failure at once")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        ignored = [f"--ignore={path}" for path in (*given.alone, *given.beside)]
        selected = ["-m", given.markers]
        parts = [Part([*given.paths, *ignored, *selected], Path(folder, "parallel"), PARALLEL)]
        if given.alone:
            beside = Part([*given.beside, *selected], Path(folder, "beside"), PATIENT)
            alone = Part([*given.alone, *selected], Path(folder, "alone"))
            alone.beside = beside if given.beside else None
            parts.append(alone)
        sys.exit(run(parts, is_repeating=not given.no_repeat))


if __name__ == "__main__":
    main()
