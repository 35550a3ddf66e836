"""Run random schedules of questions, restarts and answers; the last line is JSON."""

import argparse
import json
import sys

from flow_schedules import tally
from portions import tally_all
from tally import say

WRONG = ("refused_executed", "asked_twice", "approved_not_executed_once", "executed_unasked")
PORTION = 20
"""How many schedules a process runs before it reports."""


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
    return tally_all(
        tally, seeds, unit="schedules", wrong=WRONG, portion=PORTION, processes=processes
    )


if __name__ == "__main__":
    sys.exit(main())
