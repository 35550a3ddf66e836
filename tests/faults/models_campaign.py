"""Run the four agents on a model that fails in twelve ways; the last line is JSON."""

import argparse
import json
import sys

from models_cases import all_cases, tally
from portions import tally_all
from tally import say

WRONG = ("endless", "silent", "raw_calls_shown")
PORTION = 12
"""How many cases a process plays before it reports."""


def main() -> int:
    """Run the campaign; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="seeds per agent and failure mode")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    found = campaign(range(options.seed, options.seed + options.seeds), options.processes)
    say(json.dumps(found))
    return 1 if any(found[name] for name in WRONG) else 0


def campaign(seeds: range, processes: int) -> dict[str, int]:
    """Play all cases in several processes, and print how far they are."""
    return tally_all(
        tally, all_cases(seeds), unit="cases", wrong=WRONG, portion=PORTION, processes=processes
    )


if __name__ == "__main__":
    sys.exit(main())
