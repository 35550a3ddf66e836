"""`bathysphere eval` on Inspect: scripted models, a killed evaluation, and the small real model."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from bathysphere.cli.main import main
from bathysphere.evaluation.logs import read_logs
from bathysphere.testing import small_model

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "benchmarks" / "quality" / "evaluation" / "run.py"

SLOW = """
import sys, time
from pathlib import Path
from bathysphere.core.clock import SystemClock
from bathysphere.evaluation.runner import Evaluation, run_evaluation
from bathysphere.evaluation.subjects import Candidate
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, hangs, says

folder = Path(sys.argv[1])

def models(case, run):
    with (folder / "started").open("a") as file:
        file.write(case.name + "\\n")
    model = ScriptedChatModel(answer=lambda messages: hangs(0.3, then=says("Four.")))
    return Models(main=model, subagent=model, summary=model, audit=model)

candidate = Candidate(name="slow", settings=ModelSettings(), models=models)
evaluation = Evaluation(candidate=candidate, suites=("harness",), limit=8)
place, [log] = run_evaluation(evaluation, folder, clock=SystemClock())
print(place.name, len(log.cases))
"""


@pytest.mark.timeout(300)
def test_scripted_models_pass_and_the_last_line_has_the_figures():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", BENCHMARK, "--limit", "4", "--runs", "1", "--baseline"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["tasks"] == figures["scripted_passed"] == figures["deepagents_passed"] == 4
    assert figures["frail_runs"] == 4
    assert figures["frail_share"] >= 0.75


def started(folder: Path) -> list[str]:
    file = folder / "started"
    return file.read_text().split() if file.exists() else []


@pytest.mark.timeout(600)
@pytest.mark.long(
    "tests/integration/test_eval.py::test_scripted_models_pass_and_the_last_line_has_the_figures"
)
def test_a_killed_evaluation_goes_on_where_it_was(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", SLOW, str(tmp_path)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 240
    while len(started(tmp_path)) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = started(tmp_path)
    assert 4 <= len(before) < 8

    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [folder] = [path.parent for path in tmp_path.glob("*/command.json")]
    assert done.stdout.splitlines()[-1] == f"{folder.name} 8"
    assert (folder / "summary.json").exists()
    often = {name for name, count in Counter(started(tmp_path)).items() if count > 1}
    assert often <= {before[-1]}, "a case that had ended was run again"


@pytest.mark.small_model
@pytest.mark.timeout(900)
@pytest.mark.long(
    "tests/integration/test_eval.py::test_scripted_models_pass_and_the_last_line_has_the_figures"
)
def test_a_real_model_gets_a_report_with_figures(tmp_path, monkeypatch, capsys):
    """The model is too small to pass anything; what counts is that it is measured."""
    weights = small_model.fetch(ROOT / ".cache" / "models")
    monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(weights.parent))
    monkeypatch.setenv("BATHYSPHERE_MODEL_PROFILE", "lean")
    monkeypatch.setenv("BATHYSPHERE_MODEL_CONTEXT_TOKENS", "640")  # it may talk until this is full
    logs, name = tmp_path / "logs", f"llamacpp:{weights.stem}"

    code = main(["eval", "--model", name, "--limit", "2", "--log-dir", str(logs)])
    assert code == 0, capsys.readouterr()
    assert "tokens in" in capsys.readouterr().out
    [log] = read_logs(logs)
    assert log.facts["sha256"] == small_model.SHA256
    assert len(log.cases) == 2
    assert log.input_tokens > 100
    assert log.output_tokens > 0

    assert main(["eval", "report", "--log-dir", str(logs)]) == 0
    page = (logs / "report.html").read_text()
    assert f"{log.passed} of 2" in page
    assert name in page
