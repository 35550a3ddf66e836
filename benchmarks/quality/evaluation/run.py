"""The harness tasks of `bathysphere eval` with scripted models; the last line is JSON.

A model that plays the reference solutions must pass all of them; one that spoils a fifth of its
turns, in the twelve ways of `FrailChatModel`, at least nine of ten. `--suites all` runs the other
suites with the scripted model as well.
"""

import argparse
import json
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tutor"))

from eval_reference import Reference

from bathysphere.core.clock import SystemClock
from bathysphere.evaluation.cases import SUITES, Case
from bathysphere.evaluation.runner import Evaluation, run_evaluation
from bathysphere.evaluation.subjects import Candidate
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import FrailChatModel, ScriptedChatModel

LEAST_SHARE = 0.9


def candidate(rate: float, seed: int) -> Candidate:
    """A scripted model that spoils a share of its turns."""

    def models(case: Case, run: int) -> Models:
        rule = Reference(case)
        model = ScriptedChatModel(answer=rule)
        if rate:
            drawn = zlib.crc32(f"{seed}/{case.name}/{run}".encode())
            model = FrailChatModel(answer=rule, rate=rate, seed=drawn)
        return Models(main=model, subagent=model, summary=model, audit=model)

    facts = {"version": "scripted", "profile": "full", "rate": rate, "seed": seed}
    return Candidate(
        name=f"frail:{rate:g}" if rate else "scripted",
        settings=ModelSettings(retries=0),
        models=models,
        facts=facts,
    )


def measure(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    scripted = Evaluation(
        candidate=candidate(0, options.seed),
        suites=SUITES if options.suites == "all" else ("harness",),
        baseline="deepagents" if options.baseline else None,
        limit=options.limit,
        parallel=4,
    )
    frail = Evaluation(
        candidate=candidate(options.rate, options.seed),
        suites=("harness",),
        baseline=scripted.baseline,
        limit=options.limit,
        runs=options.runs,
        parallel=4,
    )
    figures: dict[str, float] = {}
    for log in run_evaluation(scripted, folder, clock=SystemClock())[1]:
        _print_failures(log)
        if not log.is_ours:
            figures |= {"deepagents_passed": log.passed}
        elif log.suite == "harness":
            figures |= {"tasks": len(log.cases), "scripted_passed": log.passed}
        else:
            figures |= {log.suite: len(log.cases), f"{log.suite}_passed": log.passed}
    for log in run_evaluation(frail, folder, clock=SystemClock())[1]:
        _print_failures(log)
        name = "frail" if log.is_ours else "frail_deepagents"
        figures |= {
            f"{name}_runs": len(log.cases),
            f"{name}_passed": log.passed,
            f"{name}_share": round(log.share, 4),
        }
    return figures


def _print_failures(log) -> None:
    for case in log.cases:
        if not case.passed:
            why = " ".join(case.failed).splitlines()[0]
            print(f"{log.harness} {log.suite} {case.name} {case.epoch}: {why}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each task that are spoiled")
    parser.add_argument("--rate", type=float, default=0.2, help="the share of spoiled turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="only the first tasks")
    parser.add_argument("--suites", choices=("harness", "all"), default="harness")
    parser.add_argument("--baseline", action="store_true", help="bare deepagents as well")
    parser.add_argument("--log-dir", type=Path, help="keep the logs here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(options.log_dir or Path(scratch), options)
    print(json.dumps(figures))
    all_passed = figures["scripted_passed"] == figures["tasks"]
    return int(not all_passed or figures["frail_share"] < LEAST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
