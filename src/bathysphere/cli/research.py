"""`bathysphere research "…"`: a question, a plan to approve, a report whose quotes are checked."""

import argparse
import os
import warnings
from pathlib import Path

HELP = "research a question: plan, approval, sources, a report that carries its proof"
DEBUG = "BATHYSPHERE_DEBUG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `research QUESTION`."""
    parser.add_argument("question", help="what you want to know")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the model, for this run")
    parser.add_argument(
        "--corpus", metavar="FOLDER", type=Path, help="search this folder, not the web"
    )
    parser.add_argument(
        "--url", action="append", default=[], metavar="ADDRESS", help="look at this; repeatable"
    )
    parser.add_argument("--policy", metavar="FILE", type=Path, help="a POLICY.md of your own")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the report: .zip is the proof; .md, .html, .docx, .pdf the report alone",
    )
    parser.add_argument(
        "--approve", choices=("ask", "all"), default="ask", help="who approves plans (default: ask)"
    )
    parser.add_argument("--plain", action="store_true", help="no colours and no bars")


def run(args: argparse.Namespace) -> int:
    """Research one question in this process."""
    if not os.environ.get(DEBUG):
        warnings.simplefilter("ignore")  # those of the libraries are not for the person
    from bathysphere.cli.talk.answers import Answers
    from bathysphere.cli.talk.researching import Research, check_out
    from bathysphere.cli.talk.screen import Screen

    screen = Screen(plain=args.plain)
    check_out(args.out)
    research = Research.from_arguments(
        args, screen=screen, answers=Answers(screen=screen, approve=args.approve)
    )
    return research.run(args.question, urls=args.url, out=args.out)
