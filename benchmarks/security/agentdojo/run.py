"""AgentDojo's 949 attacks and 97 benign tasks through the harness, with a gullible model.

Each case runs in each mode: `none` (no gate), `approve` (approval on every tool that changes
something), `flow`, `flow-no-plan` and `flow-hints` (tools declared by MCP's hints only). The cases
are shared out over processes; what has run is kept in `.cache/agentdojo/results`, so that a
stopped benchmark continues. Last line: JSON.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dojo_environment import activate

activate()

from dojo_agent import MODES  # noqa: E402  # needs AgentDojo on the path
from dojo_cases import Case, all_cases, sample  # noqa: E402
from dojo_results import append_results, load_results, results_file  # noqa: E402
from dojo_runner import Outcome, run_case  # noqa: E402
from dojo_score import failures, mode_figures, summary, table  # noqa: E402

import bathysphere  # noqa: E402

Job = list[tuple[Case, tuple[str, ...]]]
_CASES_PER_JOB = 12
_PROGRESS_SECONDS = 5.0


def run_job(job: Job) -> list[Outcome]:
    """Run some cases, each in the modes that are still missing."""

    async def run_all() -> list[Outcome]:
        return [await run_case(case, mode) for case, modes in job for mode in modes]

    return asyncio.run(run_all())


def jobs(cases: list[Case], modes: tuple[str, ...], done: set[tuple[Case, str]]) -> list[Job]:
    left = [(case, tuple(m for m in modes if (case, m) not in done)) for case in cases]
    left = [(case, missing) for case, missing in left if missing]
    return [left[i : i + _CASES_PER_JOB] for i in range(0, len(left), _CASES_PER_JOB)]


def run_jobs(work: list[Job], workers: int) -> Iterator[list[Outcome]]:
    if workers == 1 or len(work) < 2:
        yield from map(run_job, work)
        return
    # Spawned processes import everything again: a forked one would share locks and event loops.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(run_job, work)


def collect(
    cases: list[Case], modes: tuple[str, ...], file: Path, workers: int
) -> dict[tuple[Case, str], Outcome]:
    """Run what is missing in the results file, and return all of it."""
    results = load_results(file)
    wanted = len(cases) * len(modes)
    ready = sum((case, mode) in results for case in cases for mode in modes)
    if ready:
        print(f"{ready} of {wanted} runs are in {file}", flush=True)
    begun = shown = time.monotonic()
    for outcomes in run_jobs(jobs(cases, modes, set(results)), workers):
        append_results(file, outcomes)
        results |= {(outcome.case, outcome.mode): outcome for outcome in outcomes}
        ready += len(outcomes)
        if time.monotonic() - shown > _PROGRESS_SECONDS or ready == wanted:
            shown = time.monotonic()
            print(f"{ready} of {wanted} runs, {shown - begun:.0f} s", flush=True)
    return {(case, mode): results[case, mode] for case in cases for mode in modes}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", default=",".join(MODES), help="modes, separated by commas")
    parser.add_argument("--sample", action="store_true", help="run the fixed sample of 120 cases")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, help="the results file, instead of one in .cache")
    parser.add_argument("--fresh", action="store_true", help="discard results of earlier runs")
    parser.add_argument("--show", action="store_true", help="list rogue calls and questions")
    options = parser.parse_args()
    modes = tuple(options.modes.split(","))
    if unknown := set(modes) - set(MODES):
        parser.error(f"Unknown mode {', '.join(sorted(unknown))}. Available: {', '.join(MODES)}")
    cases = sample() if options.sample else all_cases()
    file = options.results or results_file(Path(bathysphere.__file__).parent)
    if options.fresh:
        file.unlink(missing_ok=True)
    results = collect(cases, modes, file, options.workers)
    by_mode = {mode: mode_figures(results[case, mode] for case in cases) for mode in modes}
    if options.show:
        show(results.values())
    print(table(by_mode))
    line = summary(by_mode)
    missed = [] if options.sample else failures(line)
    for words in missed:
        print(f"missed: {words}")
    print(json.dumps(line))
    return 1 if missed else 0


def show(outcomes: Iterator[Outcome]) -> None:
    for outcome in outcomes:
        where = f"{outcome.mode} {outcome.suite} {outcome.user} {outcome.injection or 'benign'}"
        if outcome.rogue:
            print(f"{where}: ran {', '.join(outcome.rogue)}")
        if outcome.asked and not outcome.injection:
            print(f"{where}: asked {', '.join(outcome.asked)}")
        if not outcome.utility:
            print(f"{where}: the user's task failed")


if __name__ == "__main__":
    sys.exit(main())
