"""The in-process examples of docs/testing.md run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs" / "testing.md"
BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_is_a_whole_file_and_those_in_process_pass(tmp_path):
    text = DOCS.read_text(encoding="utf-8")
    examples = dict(BLOCK.findall(text))
    assert len(examples) == text.count("```python")
    for name in ("tests/test_weather.py", "tests/test_trouble.py", "tests/test_frail.py"):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(examples[name], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=quick, capture_output=True, text=True, check=False
    )
    assert "5 passed" in done.stdout, done.stdout
