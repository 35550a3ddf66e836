"""Every example has a README and a test, and is in the list; the researcher runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SAYS = {
    "research/run_local.py": [
        "task: How deep did the bathysphere dive in 1934?",
        "  fetch_page: corpus:record-1934.md",
        "reached a depth of 923 metres on that day. (corpus:record-1934.md)",
        "The findings rest on 2 pages",
        "Saved as final_report.md.",
    ],
}


def folders() -> list[Path]:
    return [path for path in EXAMPLES.iterdir() if (path / "README.md").is_file()]


def test_every_example_is_listed_explained_and_tested():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for folder in folders():
        assert f"({folder.name}/README.md)" in listed
        scripts = {f"{folder.name}/{path.name}" for path in folder.glob("run_*.py")}
        assert [*folder.glob("test_*.py")] or scripts & set(SAYS), folder.name
    code = {path.relative_to(EXAMPLES).parts[0] for path in EXAMPLES.rglob("*.py")}
    assert code - {"conftest.py"} == {folder.name for folder in folders()}


def test_readmes_link_to_documents_that_exist():
    for folder in folders():
        for part in (folder / "README.md").read_text(encoding="utf-8").split("](")[1:]:
            target = part.partition(")")[0].partition("#")[0]
            assert (folder / target).is_file(), f"{folder.name}: {target}"


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs(name, tmp_path):
    env = {"PATH": os.environ["PATH"], "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0", "PYTHONUTF8": "1"}
    shown = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
    )
    assert shown.returncode == 0, shown.stderr
    for words in SAYS[name]:
        assert words in shown.stdout
