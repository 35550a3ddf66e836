"""Run the four agents on a model that fails in twelve ways; the last line is JSON."""

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter

from models_cases import all_cases, tally
from tally import say

WRONG = ("endless", "silent", "raw_calls_shown")
PORTION = 12
"""How many cases a process plays before it reports."""
SAY_SECONDS = 30


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
    cases = all_cases(seeds)
    portions = [cases[first : first + PORTION] for first in range(0, len(cases), PORTION)]
    total: Counter[str] = Counter()
    began = said = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.imap_unordered(tally, portions):
            total.update(part)
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                wrong = sum(total[name] for name in WRONG)
                say(f"{total['cases']} of {len(cases)} cases, {wrong} wrong, {said - began:.0f} s")
    return dict(total)


if __name__ == "__main__":
    sys.exit(main())
