"""All flows of all stock front ends: `make frontends`. The last line is JSON."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from front_ends import FRONT_ENDS, play, rigged


def main() -> int:
    with TemporaryDirectory() as folder, rigged(Path(folder)) as rig:
        results = [result for front in FRONT_ENDS for result in play(rig, front).values()]
    for result in results:
        outcome = result["error"] or "passed"
        sys.stdout.write(f"{result['front']}: {result['flow']}: {outcome}\n")
    passed = sum(result["error"] is None for result in results)
    sys.stdout.write(json.dumps({"flows": len(results), "passed": passed}) + "\n")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
