"""`bathysphere chat`: talk to an agent in the terminal."""

import argparse
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bathysphere.device.documents import Documents
    from bathysphere.harness.spec import Spec

HELP = "talk to an agent"
DEBUG = "BATHYSPHERE_DEBUG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `chat [AGENT]`."""
    parser.add_argument("agent", nargs="?", default="simple", help="the agent (default: simple)")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="the model, for this talk")
    parser.add_argument("--message", metavar="TEXT", help="say this, print the answer and leave")
    parser.add_argument(
        "--files",
        type=Path,
        metavar="FOLDER",
        help="share the text files of this folder with the agent (default: none)",
    )
    parser.add_argument(
        "--approve",
        choices=("ask", "all", "none"),
        help="what happens to calls and changes that need approval (with --message: none, unless "
        "all)",
    )
    parser.add_argument("--plain", action="store_true", help="no colours")


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves, or once with `--message`."""
    if not os.environ.get(DEBUG):
        warnings.simplefilter("ignore")  # those of the libraries are not for the person who chats
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.store.memory import InMemoryStore

    from bathysphere.agents import configured
    from bathysphere.cli.talk.answers import Answers, Approve
    from bathysphere.cli.talk.proposals import Proposals
    from bathysphere.cli.talk.screen import Screen
    from bathysphere.cli.talk.session import Session
    from bathysphere.device.device import Device
    from bathysphere.harness.build import build
    from bathysphere.models.settings import ModelSettings

    settings = ModelSettings.from_environment()
    if args.model:
        settings = settings.model_copy(update={"main": args.model})
    screen = Screen(plain=args.plain)
    alone = args.message is not None
    asked: Approve = args.approve or "ask"
    rule: Approve = "none" if alone and asked == "ask" else asked
    spec = configured(args.agent, settings)
    documents = shared_documents(spec, args.files)
    device = Device(documents, decide=Proposals(screen=screen, approve=rule).decide)
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver(), store=InMemoryStore()),
        screen=screen,
        answers=Answers(screen=screen, approve=rule, alone=alone, device=device),
    )
    if alone:
        return session.once(args.message)
    model, chosen_by = settings.choice("main")
    return session.talk(
        agent=args.agent,
        model=model,
        is_default=chosen_by == NO_MODEL,
        notes=about_files(spec, args.files),
    )


NO_MODEL = "no model is set"
"""What the settings say of a model that nobody chose."""


def shared_documents(spec: "Spec", folder: Path | None) -> "Documents":
    """What the agent may see of the person's documents: one folder, or nothing.

    Raises:
        CallerError: If the agent has no tools for documents.
        ConfigError: If there is no such folder.
    """
    from bathysphere.core.errors import CallerError
    from bathysphere.device.documents import NoDocuments
    from bathysphere.device.folder import FolderDocuments

    if folder is None:
        return NoDocuments()
    if not has_client_files(spec):
        hint = "`bathysphere chat tutor --files FOLDER` works on your files"
        raise CallerError(f"{spec.name} has no tools for your files", hint=hint)
    return FolderDocuments(folder)


def has_client_files(spec: "Spec") -> bool:
    """Whether an agent works on documents of the person's."""
    from bathysphere.middleware.client_files import ClientFilesMiddleware

    layers = getattr(spec, "middleware", ())  # a graph of its own has none
    return any(isinstance(layer, ClientFilesMiddleware) for layer in layers)


def about_files(spec: "Spec", folder: Path | None) -> tuple[str, ...]:
    """What a person should know about their files and the map before they begin."""
    if not has_client_files(spec):
        return ()
    if folder is None:
        files = "It sees none of your files; --files FOLDER shares a folder with it."
    else:
        files = f"It may read the text files in {folder}, and changes one only as you accept."
    return (files, "/map shows the argument, /disclosures what has left this device, /help more.")
