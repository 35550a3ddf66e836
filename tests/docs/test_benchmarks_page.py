"""The page of benchmarks is what `make benchmarks` writes: machine, commit, commands, figures."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "benchmarks_page.py"))
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_the_page_names_commit_date_and_machine():
    assert PAGE.startswith(SCRIPT["_NOTE"])
    for row in (
        r"commit \| `[0-9a-f]{12}`",
        r"date \| \d{4}-\d\d-\d\d",
        r"processor \| \S+",
        "load",
    ):
        assert re.search(rf"^\| {row}", PAGE, re.MULTILINE), row


@pytest.mark.parametrize("benchmark", SCRIPT["BENCHMARKS"], ids=lambda b: b.command)
def test_each_benchmark_has_its_command_and_figures(benchmark):
    section = PAGE.partition(f"## {benchmark.title}\n")[2].partition("\n## ")[0]
    assert f"`{benchmark.command}`" in section
    for text in benchmark.figures.values():
        assert re.search(rf"^\| {re.escape(text)} \| [\d.,]+ \|$", section, re.MULTILINE), text


def test_a_figure_that_a_benchmark_does_not_print_is_an_error():
    with pytest.raises(ValueError, match="printed no"):
        SCRIPT["_section"](SCRIPT["BENCHMARKS"][0], {})
