"""`scripts/run_tests.py`: what failed runs once more, and only what fails twice fails the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_tests.py"
FLAKY = """
from pathlib import Path
def test_flaky():
    seen = Path(__file__).with_name("seen")
    is_second = seen.exists()
    seen.touch()
    assert is_second
"""
PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert False\n"
SIX = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_fails(n): assert False\n"
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}  # a quick start


@pytest.fixture
def run(tmp_path):
    def run(*options: str, **files: str) -> tuple[int, str]:
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = services\n")
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(text)
        command = [sys.executable, SCRIPT, ".", *options]
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | PLUGINS,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    return run


@pytest.mark.parametrize("options", [(), ("--alone", "test_one.py")])
def test_a_test_that_passes_alone_is_listed_and_does_not_count(run, options):
    ended, printed = run(*options, one=FLAKY, two=PASSES)
    assert ended == 0
    assert printed.endswith("failed once, passed alone: test_one.py::test_flaky\n")


def test_a_test_that_runs_alone_runs_nowhere_else(run):
    ended, printed = run("--alone", "test_one.py", one=PASSES, two=PASSES)
    assert (ended, printed.count(" 1 passed")) == (0, 2)


IDLE = """
import os, subprocess, sys
def test_is_idle():
    assert os.sched_getscheduler(0) == os.SCHED_IDLE
    ask = "import os; print(os.sched_getscheduler(0), os.getsid(0))"
    child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert child.stdout.split() == [str(os.SCHED_IDLE), str(os.getpid())]
"""


def test_what_runs_beside_those_is_idle_runs_nowhere_else_and_counts(run):
    options = ("--alone", "test_one.py", "--beside", "test_two.py")
    ended, printed = run(*options, one=PASSES, two=IDLE, three=PASSES)
    assert (ended, printed.count(" 1 passed")) == (0, 3)
    ended, printed = run(*options, one=PASSES, two=FAILS, three=PASSES)
    assert (ended, "failed twice: test_two.py::test_fails" in printed) == (1, True)


MARKED = "import pytest\n@pytest.mark.services\ndef test_marked(): pass\n"


def test_only_what_is_selected_runs_and_a_part_may_have_none_of_it(run):
    ended, printed = run(
        "--markers", "services", "--alone", "test_one.py", one=PASSES, two=MARKED + FAILS
    )
    assert (ended, printed.count(" 1 passed"), "failed" in printed) == (0, 1, False)


def test_a_selection_of_nothing_fails(run):
    assert run("--markers", "servcies", "--alone", "test_one.py", one=PASSES, two=MARKED)[0] != 0


def test_a_test_that_fails_twice_counts(run):
    ended, printed = run("--alone", "test_one.py", one=FLAKY, two=FAILS)
    assert ended == 1
    assert "failed once, passed alone: test_one.py::test_flaky" in printed
    assert "failed twice: test_two.py::test_fails" in printed


def test_nothing_is_repeated_when_all_passes_too_much_fails_or_nobody_wants_it(run):
    assert "once more" not in run(two=PASSES)[1]
    ended, printed = run(six=SIX)
    assert (ended, "once more" in printed) == (1, False)
    ended, printed = run("--no-repeat", one=FLAKY)
    assert (ended, "once more" in printed) == (1, False)


def test_a_run_that_cannot_read_a_test_file_fails(run):
    assert run(one=FLAKY, two="import missing\n")[0] != 0
