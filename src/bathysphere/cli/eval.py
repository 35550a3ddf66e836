"""`bathysphere eval`: measure a model on the agents, and compare what was measured."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from bathysphere.evaluation.figures import LogFigures
    from bathysphere.models.settings import ModelSettings

HELP = "measure a model on the agents, or report what was measured"
FEATURE = "Evaluation"
SUITES = ("harness", "tutor", "research", "flow", "all")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `eval` and `eval report`."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("run", "report"),
        default="run",
        help="run (default), or write an HTML report of what was measured",
    )
    parser.add_argument(
        "--model", metavar="PROVIDER:NAME", help="model to measure (default: the main one)"
    )
    parser.add_argument(
        "--tasks",
        choices=SUITES,
        action="append",
        help="suite to run; repeatable (default: harness)",
    )
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="only the first N tasks of each suite"
    )
    parser.add_argument(
        "--runs", type=_positive, default=1, metavar="N", help="how often each task is run"
    )
    parser.add_argument(
        "--parallel",
        type=_positive,
        default=1,
        metavar="N",
        help="tasks at the same time (default: 1, which suits a local model)",
    )
    parser.add_argument(
        "--baseline",
        choices=("deepagents",),
        help="put the harness tasks to bare deepagents as well",
    )
    parser.add_argument(
        "--label", help="name of this version in reports (default: the installed version)"
    )
    parser.add_argument(
        "--log-dir",
        type=Path,
        default=Path("evaluations"),
        metavar="DIR",
        help="folder of the logs (default: evaluations)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where report writes to (default: report.html in the folder of the logs)",
    )


def run(args: argparse.Namespace) -> int:
    """Measure a model, or write the report."""
    from importlib.util import find_spec

    from rich.console import Console

    from bathysphere.core.errors import missing_extra

    if find_spec("inspect_ai") is None:
        raise missing_extra(FEATURE, "eval")
    console = Console(highlight=False, soft_wrap=True)
    return _report(args, console) if args.action == "report" else _measure(args, console)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        message = f"{number} is not positive"
        raise argparse.ArgumentTypeError(message)
    return number


# ── run ──


def _measure(args: argparse.Namespace, console: "Console") -> int:
    from bathysphere.core.clock import SystemClock
    from bathysphere.evaluation.cases import SUITES as KNOWN
    from bathysphere.evaluation.runner import Evaluation, run_evaluation
    from bathysphere.evaluation.subjects import configured_candidate
    from bathysphere.models.prices import price_of

    settings = _settings(args.model)
    candidate = configured_candidate(settings, _facts(settings, args.label))
    wanted = args.tasks or ["harness"]
    evaluation = Evaluation(
        candidate=candidate,
        suites=tuple(name for name in KNOWN if name in wanted or "all" in wanted),
        baseline=args.baseline,
        limit=args.limit,
        runs=args.runs,
        parallel=args.parallel,
        price=price_of(candidate.name, settings),
    )
    display: Literal["rich", "plain"] = "rich" if sys.stdout.isatty() else "plain"
    folder, logs = run_evaluation(evaluation, args.log_dir, clock=SystemClock(), display=display)
    print_figures(logs, console)
    console.print(f"Logs: {folder}", markup=False)
    console.print(f"Look at them: inspect view --log-dir {args.log_dir}", markup=False)
    console.print(f"Compare: bathysphere eval report --log-dir {args.log_dir}", markup=False)
    return 0


def _settings(name: str | None) -> "ModelSettings":
    """The settings with one model for every role, and no other that could step in for it.

    Raises:
        CallerError: The model is the scripted tour.
        ModelUnavailable: The model cannot be used as configured.
    """
    import asyncio

    from bathysphere.core.errors import CallerError, ModelUnavailable
    from bathysphere.models.names import DEMO, parse
    from bathysphere.models.resolve import check
    from bathysphere.models.settings import ModelSettings

    settings = ModelSettings.from_environment()
    parsed = parse(name or settings.choice("main").name)
    if parsed.provider == DEMO:
        raise CallerError(
            f"{parsed} is a script, not a model", hint="name one that `bathysphere models` lists"
        )
    only: dict[str, Any] = dict.fromkeys(("subagent", "summary", "audit"))
    only |= {"main": str(parsed), "fallback": (), "subagents": {}}
    settings = settings.model_copy(update=only)
    found = asyncio.run(check(str(parsed), settings))
    if not found.usable:
        raise ModelUnavailable(f"{found.name}: {found.detail}", hint=found.hint)
    return settings


def _facts(settings: "ModelSettings", label: str | None) -> dict[str, Any]:
    """What the log says about the model and this program."""
    from importlib.metadata import version

    from bathysphere.models.llamacpp import file_hash

    facts: dict[str, Any] = {
        "version": label or version("bathysphere"),
        "deepagents": version("deepagents"),
    }
    sha256 = file_hash(settings.choice("main").name, settings)
    return {**facts, "sha256": sha256} if sha256 else facts


def print_figures(logs: "Sequence[LogFigures]", console: "Console") -> None:
    """Print one row per suite and harness."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("suite")
    table.add_column("harness")
    for name in ("passed", "calls", "tokens in", "tokens out", "cost", "seconds"):
        table.add_column(name, justify="right")
    for log in logs:
        table.add_row(
            log.suite,
            log.harness,
            f"{log.passed} of {len(log.cases)}",
            f"{log.model_calls:,}",
            f"{log.input_tokens:,}",
            f"{log.output_tokens:,}",
            log.cost or "unknown",
            f"{log.seconds:,.0f}",
        )
    console.print(table)


# ── report ──


def _report(args: argparse.Namespace, console: "Console") -> int:
    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import CallerError
    from bathysphere.evaluation.logs import read_logs
    from bathysphere.evaluation.report import report_html

    logs = read_logs(args.log_dir) if args.log_dir.is_dir() else []
    if not logs:
        raise CallerError(
            f"No logs of evaluations in {args.log_dir}", hint="run `bathysphere eval` first"
        )
    out = args.out or args.log_dir / "report.html"
    out.write_text(report_html(logs, SystemClock().now()), encoding="utf-8")
    console.print(f"Written: {out}", markup=False)
    return 0
