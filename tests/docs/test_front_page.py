"""The README: a stranger's questions are answered before the first scrolling ends."""

import re
import tomllib
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
FIRST_SCREENS = README[: README.index("\n## Use it")]
"""What comes before the three doors: two screens."""


def section(title: str) -> str:
    [found] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    return found


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what is it", "workspace, framework and server for AI agents"),
        ("who is it for", "for people who think with documents"),
        ("what is different", "## What you find nowhere else"),
        ("how do I try it", "bathysphere serve"),
        ("can I trust it", "[threat model](THREAT_MODEL.md)"),
    ],
)
def test_a_strangers_questions_are_answered_in_two_screens(question, answer):
    assert answer in FIRST_SCREENS, question
    assert len(FIRST_SCREENS.splitlines()) < 70


def test_each_figure_names_the_command_that_measures_it():
    rows = [line for line in FIRST_SCREENS.splitlines() if line.startswith("| **")]
    assert len(rows) == 4
    targets = set(re.findall(r"^([a-z0-9_-]+):", MAKEFILE, re.M))
    for row in rows:
        _, figure, command = [cell.strip() for cell in row.strip("| ").split(" | ")]
        assert re.search(r"\d", figure), row
        assert command.strip("`").removeprefix("make ") in targets, row


def test_parts_come_in_the_order_in_which_a_reader_needs_them():
    titles = re.findall(r"^## (.*)$", README, re.M)
    doors = ["Use it", "Build with it", "Operate it"]
    assert titles == ["Try it", "What you find nowhere else", *doors, "Compared", "More"]


def test_the_comparison_is_dated_and_not_old():
    [month] = re.findall(r"^As of ([A-Z][a-z]+ \d{4}),", section("Compared"), re.M)
    compared = datetime.strptime(month, "%B %Y")  # noqa: DTZ007 - a month of the calendar
    table = section("Compared")
    for name in ("LangSmith Deployments", "Aegra", "deepagents", "Open WebUI", "NotebookLM"):
        assert name in table
    released = re.findall(
        r"^## \S+ \((\d{4}-\d{2})-\d{2}\)", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    for day in released[:1]:
        newest = datetime.strptime(day, "%Y-%m")  # noqa: DTZ007
        assert (newest - compared).days < 190, "compare again before a release"


def test_the_animation_shows_the_first_minute_and_loads_quickly():
    [(words, place)] = re.findall(r"^!\[([^\]]+)\]\((\S+\.webp)\)$", README, re.M)
    for step in ("question", "plan", "quote", "source", "proof"):
        assert step in words
    path = ROOT / place
    assert path.stat().st_size < 2_000_000
    seconds = 0.0
    with Image.open(path) as animation:
        assert animation.n_frames >= 10
        assert animation.width >= 1000
        for at in range(animation.n_frames):
            animation.seek(at)
            animation.load()
            seconds += animation.info["duration"] / 1000
    assert 10 < seconds < 30
    assert "\nanimation: ## " in MAKEFILE
    assert "tests/e2e/web/animation.py" in MAKEFILE


def test_pictures_are_made_by_a_target():
    shown = re.findall(r"!\[[^\]]*\]\((\S+)\)", README)
    assert shown
    for place in shown:
        assert (ROOT / place).is_file()
        assert place.startswith("docs/screenshots/") or place == "docs/assets/first-minute.webp"


def test_the_readme_names_no_version_that_is_not_this_one():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {*re.findall(r"bathysphere[@=]=?(\d+\.\d+\.\d+)", README)} <= {version}
