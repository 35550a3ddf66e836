"""`bathysphere chat`: chat with an agent in the terminal."""

import argparse
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bathysphere.device.documents import Documents
    from bathysphere.harness.spec import Spec

HELP = "chat with an agent in the terminal"
DEBUG = "BATHYSPHERE_DEBUG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `chat [AGENT]`."""
    parser.add_argument(
        "agent", nargs="?", default="simple", help="agent to chat with (default: simple)"
    )
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="model to use")
    parser.add_argument(
        "--message", metavar="TEXT", help="send one message, print the answer and exit"
    )
    parser.add_argument(
        "--files",
        type=Path,
        metavar="FOLDER",
        help="share the text files in this folder with the agent (default: none)",
    )
    parser.add_argument(
        "--approve",
        choices=("ask", "all", "none"),
        help="how to answer approval requests (default: ask; with --message: none)",
    )
    parser.add_argument("--plain", action="store_true", help="disable colours")


def run(args: argparse.Namespace) -> int:
    """Chat until the person exits, or once with `--message`."""
    if not os.environ.get(DEBUG):
        warnings.simplefilter("ignore")  # library warnings are noise for the person chatting
    from bathysphere.agents import known_agent

    known_agent(args.agent)  # before the stack is loaded, so that a typo fails fast
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
    unattended = args.message is not None
    requested: Approve = args.approve or "ask"
    rule: Approve = "none" if unattended and requested == "ask" else requested
    spec = configured(args.agent, settings)
    documents = shared_documents(spec, args.files)
    device = Device(documents, decide=Proposals(screen=screen, approve=rule).decide)
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver(), store=InMemoryStore()),
        screen=screen,
        answers=Answers(screen=screen, approve=rule, unattended=unattended, device=device),
        has_map=has_argument_map(spec),
    )
    if unattended:
        return session.once(args.message)
    main = settings.choice("main")
    return session.talk(
        agent=args.agent,
        model=main.name,
        is_default=main.source == "default",
        notes=about_files(spec, args.files),
    )


def shared_documents(spec: "Spec", folder: Path | None) -> "Documents":
    """The documents shared with the agent: those in one folder, or none.

    Raises:
        CallerError: If the agent has no tools for documents.
        ConfigError: If the folder does not exist.
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


def has_argument_map(spec: "Spec") -> bool:
    """Whether an agent maintains an argument map."""
    from bathysphere.middleware.argument_map import ArgumentMapMiddleware

    layers = getattr(spec, "middleware", ())  # a custom graph has no layers
    return any(isinstance(layer, ArgumentMapMiddleware) for layer in layers)


def has_client_files(spec: "Spec") -> bool:
    """Whether an agent works on the person's documents."""
    from bathysphere.middleware.client_files import ClientFilesMiddleware

    layers = getattr(spec, "middleware", ())  # a custom graph has no layers
    return any(isinstance(layer, ClientFilesMiddleware) for layer in layers)


def about_files(spec: "Spec", folder: Path | None) -> tuple[str, ...]:
    """Notes about files and the map to show before a chat."""
    if not has_client_files(spec):
        return ()
    if folder is None:
        files = "No files are shared; use --files FOLDER to share a folder."
    else:
        files = f"The agent can read the text files in {folder}; you approve every change."
    return (files, "/map shows the argument map, /disclosures what was shared, /help all commands.")
