"""Play many cases in several processes, and say how far they are."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tally import say

SAY_SECONDS = 30


def tally_all(
    tally: Callable[[Any], Mapping[str, int]],
    cases: Sequence[Any],
    *,
    unit: str,
    wrong: Sequence[str],
    portion: int,
    processes: int,
) -> dict[str, int]:
    """Add up what `tally` counts for each portion of the cases.

    `unit` is the name of its count of cases, `wrong` are those that must stay 0.
    """
    portions = [cases[first : first + portion] for first in range(0, len(cases), portion)]
    total: Counter[str] = Counter()
    began = said = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.imap_unordered(tally, portions):
            total.update(part)
            if time.monotonic() - said >= SAY_SECONDS:
                said = time.monotonic()
                bad = sum(total[name] for name in wrong)
                say(f"{total[unit]} of {len(cases)} {unit}, {bad} wrong, {said - began:.0f} s")
    return dict(total)
