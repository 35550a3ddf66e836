"""Run random schedules of questions, restarts and answers; the last line is JSON."""

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter

from flow_schedules import tally
from tally import say

WRONG = ("refused_executed", "asked_twice", "approved_not_executed_once", "executed_unasked")
PORTION = 20
"""How many schedules a process runs before it reports."""
SAY_SECONDS = 30


def main() -> int:
    """Run the campaign; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.schedules)
    found = campaign(seeds, options.processes)
    say(json.dumps(found))
    return 1 if any(found[name] for name in WRONG) else 0


def campaign(seeds: range, processes: int) -> dict[str, int]:
    """Run the schedules in several processes, and print how far they are."""
    portions = [seeds[first : first + PORTION] for first in range(0, len(seeds), PORTION)]
    total: Counter[str] = Counter()
    began = said = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.imap_unordered(tally, portions):
            total.update(part)
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                wrong = sum(total[name] for name in WRONG)
                done = f"{total['schedules']} of {len(seeds)} schedules"
                say(f"{done}, {wrong} wrong, {said - began:.0f} s")
    return dict(total)


if __name__ == "__main__":
    sys.exit(main())
