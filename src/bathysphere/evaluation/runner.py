"""Runs an evaluation, each in a folder of its own, and goes on with one that was killed.

The folder has Inspect's logs, `command.json` with what was asked for, and at the end a
`summary.json`. A command that is given again continues the newest folder with the same command and
no summary; Inspect takes the cases that are in its logs from there.
"""

import json
import re
import warnings
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from inspect_ai import eval_set

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.evaluation.cases import Suite, suite
from bathysphere.evaluation.figures import LogFigures
from bathysphere.evaluation.inspect_tasks import PROVIDER, task_of
from bathysphere.evaluation.logs import read_logs
from bathysphere.evaluation.subjects import Candidate, Harness
from bathysphere.models.prices import Price

COMMAND, SUMMARY = "command.json", "summary.json"
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What is to be measured."""

    candidate: Candidate
    suites: tuple[Suite, ...]
    baseline: Literal["deepagents"] | None = None
    """Another harness that gets the suite `harness` as well."""
    limit: int | None = None
    """How many cases of each suite are run."""
    runs: int = 1
    """How often each case is run."""
    parallel: int = 1
    """How many cases run at the same time."""
    price: Price | None = None

    def command(self) -> dict[str, Any]:
        """What makes this evaluation the same as an earlier one."""
        return {
            "model": self.candidate.name,
            "facts": dict(self.candidate.facts),
            "suites": {name: _hash(name) for name in self.suites},
            "baseline": self.baseline,
            "limit": self.limit,
            "runs": self.runs,
        }


def run_evaluation(
    evaluation: Evaluation,
    folder: Path,
    *,
    clock: Clock,
    display: Literal["rich", "plain", "none"] = "plain",
) -> tuple[Path, list[LogFigures]]:
    """Run an evaluation, or the rest of it; returns its folder and its figures.

    Raises:
        UpstreamError: The model failed, so that the evaluation is not complete.
    """
    command = json.dumps(evaluation.command(), indent=2, sort_keys=True)
    place = _unfinished(folder, command) or _new_folder(folder, evaluation, command, clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about each other
        succeeded, logs = eval_set(
            _tasks(evaluation),
            log_dir=str(place),
            model=f"{PROVIDER}/{evaluation.candidate.name}",
            epochs=evaluation.runs,
            max_samples=evaluation.parallel,
            max_tasks=1,
            log_buffer=1,  # each case is stored when it ends
            retry_attempts=0,
            retry_immediate=False,
            log_dir_allow_dirty=True,
            ctl_server=False,
            display=display,
        )
    if not succeeded:
        why = next((log.error.message for log in logs if log.error), "an evaluation did not end")
        raise UpstreamError(
            f"The evaluation is not complete: {why}", hint="give the same command again to go on"
        )
    found = read_logs(place)
    (place / SUMMARY).write_text(json.dumps([_summary(log) for log in found], indent=2) + "\n")
    return place, found


def _tasks(evaluation: Evaluation) -> list[Any]:
    pairs: list[tuple[Suite, Harness]] = [(name, "bathysphere") for name in evaluation.suites]
    if evaluation.baseline is not None and "harness" in evaluation.suites:
        pairs.append(("harness", evaluation.baseline))
    return [
        task_of(
            name,
            harness,
            evaluation.candidate,
            limit=evaluation.limit,
            price=evaluation.price,
        )
        for name, harness in pairs
    ]


def _unfinished(folder: Path, command: str) -> Path | None:
    """The newest folder of the same command that has no summary."""
    found = [
        file.parent
        for file in folder.glob(f"*/{COMMAND}")
        if not (file.parent / SUMMARY).exists() and file.read_text(encoding="utf-8") == command
    ]
    return max(found, key=lambda path: path.name, default=None)


def _new_folder(folder: Path, evaluation: Evaluation, command: str, clock: Clock) -> Path:
    time = clock.now().strftime("%Y-%m-%dT%H-%M-%S")
    place = folder / f"{time}_{_OTHER.sub('-', evaluation.candidate.name)}"
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{place.name.partition('~')[0]}~{number}")
    place.mkdir(parents=True)
    (place / COMMAND).write_text(command, encoding="utf-8")
    return place


def _hash(name: Suite) -> str:
    cases = [case.model_dump(mode="json", by_alias=True) for case in suite(name)]
    return sha256(json.dumps(cases, sort_keys=True).encode()).hexdigest()


def _summary(log: LogFigures) -> dict[str, Any]:
    return {**asdict(log), "passed": log.passed, "share": log.share}
