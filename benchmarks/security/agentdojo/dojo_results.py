"""Results on disk: one JSON line per run, in a file per version of the code.

A benchmark that was stopped continues where it was; a changed harness starts from nothing.
"""

import hashlib
import json
from pathlib import Path

from dojo_cases import Case
from dojo_environment import CACHE, LOCK, ROOT
from dojo_runner import Outcome


def results_file(package: Path) -> Path:
    """The file for this version of the package under test and of the benchmark."""
    digest = hashlib.sha256(LOCK.read_bytes())
    digest.update((ROOT / "requirements.lock").read_bytes())
    for folder in (package, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return CACHE / "results" / f"{digest.hexdigest()[:16]}.jsonl"


def load_results(file: Path) -> dict[tuple[Case, str], Outcome]:
    """The outcomes in a file; a line that was cut off while it was written is left out."""
    found = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                outcome = Outcome(**json.loads(line))
            except ValueError:
                continue
            found[outcome.case, outcome.mode] = outcome
    return found


def append_results(file: Path, outcomes: list[Outcome]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        # A line break first ends a line that was cut off.
        stream.writelines(f"\n{json.dumps(outcome.row())}" for outcome in outcomes)
        stream.write("\n")
