"""The HTML report of evaluations: one file without scripts, that loads nothing."""

from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from itertools import groupby

from bathysphere.evaluation.cases import SUITES
from bathysphere.evaluation.figures import CaseFigures, LogFigures
from bathysphere.evaluation.plots import Bar, Point, bars, scatter

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Evaluation of models</title>
<style>{style}</style>
</head>
<body>
<h1>Evaluation of models</h1>
<p>Written on {date} by <code>bathysphere eval report</code>. A task counts as passed if the files,
the plan, the questions and the calls that it ended with are right; what the model said is not
looked at. Lines in the bars are 95 % intervals. Of each model, harness and version the newest log
is shown.</p>
{sections}
</body>
</html>
"""
TITLES = {
    "harness": "Harness tasks",
    "tutor": "Tutor students",
    "research": "Research questions",
    "flow": "Flow control",
}
COLUMNS: tuple[tuple[str, Callable[[LogFigures], str]], ...] = (
    ("passed", lambda log: f"{log.passed} of {len(log.cases)}"),
    ("share", lambda log: f"{log.share:.0%}"),
    ("model calls", lambda log: f"{log.model_calls:,}"),
    ("tokens in", lambda log: f"{log.input_tokens:,}"),
    ("tokens out", lambda log: f"{log.output_tokens:,}"),
    ("cost", lambda log: log.cost or "unknown"),
    ("seconds", lambda log: f"{log.seconds:,.0f}"),
    ("corrections", lambda log: f"{log.corrections.total():,}" if log.is_ours else ""),
)


def report_html(logs: Sequence[LogFigures], written: datetime) -> str:
    """The report of these logs."""
    style = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    ordered = sorted(logs, key=lambda log: SUITES.index(log.suite))
    sections = [
        _section(suite, list(group)) for suite, group in groupby(ordered, lambda log: log.suite)
    ]
    date = written.strftime("%Y-%m-%d %H:%M UTC")
    return PAGE.format(style=style, date=date, sections="\n".join(sections))


def _section(suite: str, logs: list[LogFigures]) -> str:
    harnesses = sorted({log.harness for log in logs})
    rows = [
        Bar(log.label, log.passed, len(log.cases), harnesses.index(log.harness)) for log in logs
    ]
    title = TITLES.get(suite, suite)
    parts = [
        f"<h2>{escape(title)}</h2>",
        f'<div class="wide">{bars(rows, f"{title}: passed")}</div>',
        _table(logs),
        _tokens(logs, harnesses),
        _cases(logs),
        _failures(logs),
    ]
    return "\n".join(parts)


def _table(logs: Sequence[LogFigures]) -> str:
    names = "".join(f'<th class="n">{name}</th>' for name, _ in COLUMNS)
    rows = "".join(
        f"<tr><th>{escape(log.label)}{_about(log)}</th>"
        + "".join(f'<td class="n">{escape(value(log))}</td>' for _, value in COLUMNS)
        + "</tr>"
        for log in logs
    )
    return f'<div class="wide"><table><tr><th></th>{names}</tr>{rows}</table></div>'


def _about(log: LogFigures) -> str:
    facts = [log.created[:16].replace("T", " ")]
    if log.status != "success":
        facts.append("not complete")
    if sha256 := log.facts.get("sha256"):
        facts.append(f"SHA-256 {str(sha256)[:16]}…")
    return f'<br><span class="quiet">{escape(", ".join(facts))}</span>'


def _tokens(logs: Sequence[LogFigures], harnesses: Sequence[str]) -> str:
    """Tokens per task against the share that passed."""
    with_cases = [log for log in logs if log.cases]
    if not with_cases:
        return ""
    points = [
        Point(
            log.label,
            (log.input_tokens + log.output_tokens) / len(log.cases),
            log.share,
            harnesses.index(log.harness),
        )
        for log in with_cases
    ]
    names = "".join(f"<li>{escape(point.label)}</li>" for point in points)
    plot = scatter(points, "Share and tokens", "tokens per task", "passed")
    return f'<div class="wide">{plot}</div><ol>{names}</ol>'


def _cases(logs: Sequence[LogFigures]) -> str:
    names = list(dict.fromkeys(case.name for log in logs for case in log.cases))
    head = "".join(f"<th>{escape(log.label)}</th>" for log in logs)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(_cell([case for case in log.cases if case.name == name]) for log in logs)
        + "</tr>"
        for name in names
    )
    return f'<div class="wide"><table><tr><th>task</th>{head}</tr>{rows}</table></div>'


def _cell(runs: Sequence[CaseFigures]) -> str:
    if not runs:
        return "<td></td>"
    passed = sum(run.passed for run in runs)
    kind = "pass" if passed == len(runs) else "fail"
    shown = ("passed" if passed else "failed") if len(runs) == 1 else f"{passed} of {len(runs)}"
    return f'<td class="{kind}">{shown}</td>'


def _failures(logs: Sequence[LogFigures]) -> str:
    """What was wrong at the end of each run that failed."""
    rows = [
        f"<li>{escape(case.name)}, {escape(log.label)}: {escape(' '.join(case.failed))}</li>"
        for log in logs
        for case in log.cases
        if not case.passed
    ]
    summary = f"<summary>What failed ({len(rows)})</summary>"
    return f"<details>{summary}<ul>{''.join(rows)}</ul></details>" if rows else ""
