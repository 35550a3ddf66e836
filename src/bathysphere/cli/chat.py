"""`bathysphere chat`: talk to an agent in the terminal."""

import argparse
import os
import warnings

HELP = "talk to an agent"
DEBUG = "BATHYSPHERE_DEBUG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `chat [AGENT]`."""
    parser.add_argument("agent", nargs="?", default="simple", help="the agent (default: simple)")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the model, for this talk")
    parser.add_argument("--message", metavar="TEXT", help="say this, print the answer and leave")
    parser.add_argument(
        "--approve",
        choices=("ask", "all", "none"),
        help="what happens to calls that need approval (with --message: none, unless all)",
    )
    parser.add_argument("--plain", action="store_true", help="no colours")


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves, or once with `--message`."""
    if not os.environ.get(DEBUG):
        warnings.simplefilter("ignore")  # those of the libraries are not for the person who chats
    from langgraph.checkpoint.memory import InMemorySaver

    from bathysphere.agents import configured
    from bathysphere.cli.talk.answers import Answers, Approve
    from bathysphere.cli.talk.screen import Screen
    from bathysphere.cli.talk.session import Session
    from bathysphere.harness.build import build
    from bathysphere.models.settings import ModelSettings

    settings = ModelSettings.from_environment()
    if args.model:
        settings = settings.model_copy(update={"main": args.model})
    screen = Screen(plain=args.plain)
    alone = args.message is not None
    rule: Approve = args.approve or "ask"
    session = Session(
        graph=build(configured(args.agent, settings), checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(
            screen=screen, approve="none" if alone and rule == "ask" else rule, alone=alone
        ),
    )
    if alone:
        return session.once(args.message)
    model, chosen_by = settings.choice("main")
    return session.talk(agent=args.agent, model=model, is_default=chosen_by == NO_MODEL)


NO_MODEL = "no model is set"
"""What the settings say of a model that nobody chose."""
