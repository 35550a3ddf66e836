"""The HTML report: one file, no other origin, nothing of a log is markup."""

import re
from datetime import UTC, datetime

import pytest

from bathysphere.evaluation.figures import CaseFigures, LogFigures, newest
from bathysphere.evaluation.plots import interval
from bathysphere.evaluation.report import report_html

NOW = datetime(2026, 11, 17, tzinfo=UTC)


def case(name="write-file", *, passed=True, **fields):
    figures = {
        "epoch": 1,
        "failed": [] if passed else ["<b>/x.md</b> does not exist."],
        "seconds": 2.0,
        "model_calls": 3,
        "input_tokens": 1_000,
        "output_tokens": 50,
        "corrections": {"empty_answer": 1},
        "cost": None,
        "currency": None,
    }
    return CaseFigures(name=name, passed=passed, **{**figures, **fields})


def log(model="ollama:qwen3", **fields):
    figures = {
        "harness": "bathysphere",
        "suite": "harness",
        "version": "0.1.0",
        "created": "2026-11-17T10:00:00+00:00",
        "profile": "lean",
        "status": "success",
        "facts": {},
        "cases": [case(), case("edit-word", passed=False)],
    }
    return LogFigures(model=model, **{**figures, **fields})


def test_it_shows_models_versions_and_harnesses_side_by_side():
    page = report_html(
        [log(), log(version="0.2.0"), log("x:<script>"), log(harness="deepagents")], NOW
    )
    assert "ollama:qwen3 in bathysphere (0.1.0, lean)" in page
    assert "ollama:qwen3 in bathysphere (0.2.0, lean)" in page
    assert "ollama:qwen3 in deepagents" in page
    assert "1 of 2 (50%)" in page
    assert page.count("<svg") == 2


def test_it_loads_nothing_and_runs_nothing():
    page = report_html([log("x:<script>alert(1)</script>")], NOW)
    assert "<script" not in page
    assert "<b>/x.md</b>" not in page
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", page)
    assert "default-src 'none'" in page


def test_costs_are_shown_only_if_known():
    assert "unknown" in report_html([log()], NOW)
    priced = [case(cost=0.25, currency="EUR"), case("b", cost=0.5, currency="EUR")]
    page = report_html([log(cases=priced)], NOW)
    assert "0.7500 EUR" in page
    assert "unknown" not in page


def test_a_log_that_is_not_complete_says_so():
    assert "not complete" in report_html([log(status="started")], NOW)
    assert "not complete" not in report_html([log()], NOW)


def test_the_newest_log_counts():
    old, new = log(created="2026-11-16"), log(created="2026-11-17", cases=[case()])
    assert newest([new, old, log("other:model")]) == [new, log("other:model")]


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"), [(0, 10, 0.0, 0.28), (10, 10, 0.72, 1.0), (5, 10, 0.24, 0.76)]
)
def test_intervals_are_those_of_wilson(part, whole, low, high):
    assert interval(part, whole) == pytest.approx((low, high), abs=0.01)
