"""`bathysphere research "…"`: research a question with an approved plan and verified quotes."""

import argparse
import os
import warnings
from pathlib import Path

HELP = "research a question: approve a plan, get a report with verifiable sources"
DEBUG = "BATHYSPHERE_DEBUG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `research QUESTION`."""
    parser.add_argument("question", help="the research question")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="model to use")
    parser.add_argument(
        "--corpus", metavar="FOLDER", type=Path, help="search this folder instead of the web"
    )
    parser.add_argument(
        "--context",
        metavar="FOLDER",
        type=Path,
        help="share the passages of this folder that fit the question best",
    )
    parser.add_argument(
        "--url", action="append", default=[], metavar="URL", help="read this page; repeatable"
    )
    parser.add_argument(
        "--policy",
        metavar="FILE",
        type=Path,
        help="custom POLICY.md (default: the one in this folder, if any)",
    )
    parser.add_argument(
        "--then",
        action="append",
        default=[],
        metavar="MESSAGE",
        help="send this follow-up after the report; repeatable (default: ask at a terminal)",
    )
    parser.add_argument(
        "--report",
        type=int,
        metavar="N",
        help="which report --out writes, counted from 1 (default: the newest)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the report: .zip includes the proof; .md, .html, .docx and .pdf do not",
    )
    parser.add_argument(
        "--approve",
        choices=("ask", "all"),
        default="ask",
        help="how to answer plan approvals (default: ask)",
    )
    parser.add_argument("--plain", action="store_true", help="disable colours and progress bars")


def run(args: argparse.Namespace) -> int:
    """Research one question in this process."""
    if not os.environ.get(DEBUG):
        warnings.simplefilter("ignore")  # library warnings are noise for the person
    from bathysphere.cli.talk.answers import Answers
    from bathysphere.cli.talk.research_reports import check_output_path
    from bathysphere.cli.talk.research_session import ResearchSession
    from bathysphere.cli.talk.screen import Screen

    screen = Screen(plain=args.plain)
    check_output_path(args.out)
    research = ResearchSession.from_arguments(
        args, screen=screen, answers=Answers(screen=screen, approve=args.approve)
    )
    return research.run(
        args.question,
        urls=args.url,
        context=args.context,
        then=args.then,
        out=args.out,
        number=args.report,
    )
