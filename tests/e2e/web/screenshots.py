"""Pictures of each view, light and dark, on a desk and a phone: `make screenshots`."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rigging import ROOT, rigged, tell
from test_files_stories import LOOKED_AT
from test_research_stories import FROM_QUESTION_TO_PROOF
from test_tutor_stories import ARGUED, SEMINAR, TOLD
from test_wallet_stories import COUNTED, paying
from tutor_scripts import backup

from bathysphere.testing import calls, says, together
from bathysphere.testing.mint import LocalMint

FOLDER = ROOT / "docs" / "screenshots"
ANSWER = """Both helpers are back. They meet in one question: **what do you count as a cost?**

| | for | against |
|---|---|---|
| Air | no smoke, no carbon | waste for 100,000 years |
| Money | cheap once it runs | most projects run late |
| Safety | 0.03 deaths per TWh | rare, but whole regions |

1. The case *for* stands on a stable grid.
2. The case *against* stands on who carries the risk.

> “The question is not whether it is safe, but for whom.”

```python
def cost(build, run, waste, years=60):
    return build / years + run + waste
```

My notes are in `/weighing.md`. Which of the two would you like to test first?"""
NOTES = "# Weighing\n\n- Stable grid: both sides agree\n- Waste: nobody has an answer for it\n"


def todos(*done: int) -> object:
    words = [
        "Send out two helpers",
        "Compare what they bring",
        "Write down what is open",
        "Ask you",
    ]
    states = {0: "pending", 1: "in_progress", 2: "completed"}
    return calls(
        "write_todos",
        todos=[{"content": w, "status": states[s]} for w, s in zip(words, done, strict=True)],
    )


def helper(task: str) -> object:
    return calls("task", {"description": task, "subagent_type": "general-purpose"})


SCRIPT = [
    todos(1, 0, 0, 0),
    together(
        helper("Make the strongest case for nuclear power, with figures"),
        helper("Make the strongest case against nuclear power, with figures"),
        text="I send out two helpers, one for each side.",
    ),
    calls("write_file", file_path="/case-1.md", content="# One side\n\nA stable grid.\n"),
    calls("write_file", file_path="/case-2.md", content="# The other side\n\nThe waste stays.\n"),
    says("The case is made: see my file."),
    says("The case is made, with three figures."),
    together(todos(2, 2, 1, 0), calls("write_file", file_path="/weighing.md", content=NOTES)),
    says(ANSWER),
    together(
        calls(
            "ask_choices",
            question="Which of the two would you like to test first?",
            options=[
                {"id": "for", "label": "The case for: a stable grid"},
                {"id": "against", "label": "The case against: who carries the risk"},
            ],
            allow_freeform=True,
        ),
        calls("edit_file", file_path="/weighing.md", old_string="nobody", new_string="nobody yet"),
        text="Before I go on I need two things from you.",
    ),
]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, rigged(Path(folder)) as rig:
        rig.model.play(SCRIPT)
        sys.stdout.write(tell(rig, "screenshots", str(FOLDER), seconds=300))
        os.environ["STORY_PICTURES"] = str(FOLDER)
        rig.model.play(FROM_QUESTION_TO_PROOF)
        tell(rig, "research", folder, seconds=300)
        kept = Path(folder) / "backup.json"
        kept.write_text(backup(), encoding="utf-8")
        rig.model.play([*ARGUED, *TOLD, *SEMINAR])
        tell(rig, "tutor", str(kept), seconds=300)
        rig.model.play(LOOKED_AT)
        tell(rig, "files_everywhere", seconds=300)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalMint(seed="a mint for the pictures", fee_ppk=100) as mint,
        rigged(Path(folder), paying(mint), {"STORY_MINT": mint.url}) as rig,
    ):
        rig.model.play(COUNTED)
        tell(rig, "wallet_views", seconds=300)


if __name__ == "__main__":
    main()
