"""Research quality: a controlled corpus, questions with known answers, scoring by rule.

Without a model, a scripted one lies on purpose, and the run fails if a lie gets through. With
BATHYSPHERE_MODEL_MAIN set it measures that model instead. Last line: JSON.
"""

import argparse
import asyncio
import json
import os
import sys

from research_measure import measure, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures = asyncio.run(measure(options.questions, options.seed))
    bad = {} if os.environ.get("BATHYSPHERE_MODEL_MAIN") else wrong(figures)
    if bad:
        print(f"Failed checks: {json.dumps(bad)}")
    print(json.dumps(figures))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
