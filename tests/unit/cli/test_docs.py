"""What `docs/cli.md` and `docs/agents.md` show is what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("args", [["--help"], ["chat", "--help"], ["research", "--help"]])
def test_the_help_in_the_docs_is_the_real_one(args):
    shown = subprocess.run(
        [sys.executable, "-m", "bathysphere.cli.main", *args],
        capture_output=True,
        text=True,
        env={"COLUMNS": "100"},
    ).stdout
    assert f"```text\n{shown}```" in (DOCS / "cli.md").read_text(encoding="utf-8")


def test_the_code_in_the_docs_runs(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "agents.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        scope = {}
        exec(block, scope)
        assert scope["agent"].name in {"simple", "deep-agent"}
