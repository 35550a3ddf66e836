"""`make stories`, in short: its tests exist, and one of them is told on a phone in the dark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stories_campaign import STORIES, chosen

HERE = Path(__file__).parent
CAMPAIGN = HERE / "stories_campaign.py"


@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_a_test(story):
    file, _, test = STORIES[story].partition("::")
    assert f"\ndef {test}(" in (HERE / f"test_{file}.py").read_text(encoding="utf-8")


def test_each_story_is_told_in_one_part():
    assert sorted(chosen("", "told") + chosen("", "measured")) == sorted(chosen("", "all"))
    assert len(chosen("", "all")) == len(STORIES)
    assert chosen("two tabs", "measured") == []


def run(*options):
    command = [sys.executable, "-W", "ignore", CAMPAIGN, "--count", "1", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.services
@pytest.mark.node
@pytest.mark.timeout(200)
@pytest.mark.long(
    "tests/e2e/web/test_stories.py::test_from_the_first_question_to_a_streamed_answer"
)
def test_a_story_is_told_on_a_phone_in_the_dark():
    done = run("--form", "phone-dark", "--only", "first visit")
    [result] = json.loads(done.stdout.splitlines()[-1])["forms"]
    assert (done.returncode, result["passed"], result["failed"]) == (0, 1, {}), done.stdout


def test_a_story_that_nobody_knows_is_named():
    done = run("--only", "a long walk")
    assert (done.returncode, "no story is called a long walk" in done.stderr) == (2, True)
