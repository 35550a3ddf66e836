"""`bathysphere chat`: chat with an agent in the terminal."""

import argparse
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bathysphere.cli.mcp_hub import local_hub
from bathysphere.cli.simple_config import config_of
from bathysphere.cli.targets import chosen_agent
from bathysphere.core.identity import Owner

if TYPE_CHECKING:
    from bathysphere.device.documents import Documents
    from bathysphere.harness.spec import Spec
    from bathysphere.harness.web_tools import WebAccess
    from bathysphere.registry.agents import Agent
    from bathysphere.registry.factories import Graph

HELP = "chat with an agent in the terminal"
DEBUG = "BATHYSPHERE_DEBUG"
LOCAL = Owner(tenant="local", user="local")
"""The person at the terminal, for graphs that ask who it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `chat [AGENT]`."""
    parser.add_argument(
        "agent",
        nargs="?",
        help="agent to chat with, by its name or as a target such as file.py:graph or a folder "
        "(default: the first graph of the folder's langgraph.json, or simple)",
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
    agent = chosen_agent(args.agent, default="simple")
    from langgraph.checkpoint.memory import InMemorySaver

    from bathysphere.cli.talk.answers import Answers, Approve
    from bathysphere.cli.talk.memories import LocalStore, Memories
    from bathysphere.cli.talk.proposals import Proposals
    from bathysphere.cli.talk.screen import Screen
    from bathysphere.cli.talk.session import Session
    from bathysphere.device.device import Device
    from bathysphere.models.settings import ModelSettings
    from bathysphere.registry.agents import agent_settings, resolve_agent

    settings = ModelSettings.from_environment()
    screen = Screen(plain=args.plain)
    unattended = args.message is not None
    requested: Approve = args.approve or "ask"
    rule: Approve = "none" if unattended and requested == "ask" else requested
    mcp = local_hub()
    spec = resolve_agent(
        agent,
        settings,
        config=config_of(agent, mcp),
        model=args.model,
        web=_web_access(agent),
        mcp=mcp,
    )
    documents = shared_documents(spec, args.files)
    device = Device(documents, decide=Proposals(screen=screen, approve=rule).decide)
    store = LocalStore.of_user()
    session = Session(
        graph=chat_graph(spec, checkpointer=InMemorySaver(), store=store),
        screen=screen,
        answers=Answers(screen=screen, approve=rule, unattended=unattended, device=device),
        has_map=has_argument_map(spec),
        memories=Memories.of_chat(spec, store, LOCAL, screen),
    )
    if unattended:
        return session.once(args.message)
    main = agent_settings(agent, settings, model=args.model).choice("main")
    return session.talk(
        agent=agent.name,
        model=main.name if has_settings_models(agent) else "a model of its own",
        is_default=main.source == "default" and has_settings_models(agent),
        notes=about_files(spec, args.files),
    )


def _web_access(agent: "Agent") -> "WebAccess | None":
    """How the agent reaches the web, if it has tools for it."""
    from bathysphere.registry.agents import uses_web

    if not uses_web(agent):
        return None
    from bathysphere.agents.research.settings import ResearchSettings

    return ResearchSettings.from_environment().web_access()


def chat_graph(spec: "Spec | Graph", **services: Any) -> "Graph":
    """Compile the agent, or give a compiled graph the services of this chat.

    Raises:
        CallerError: The graph has no messages to chat with.
    """
    from langgraph.pregel import Pregel

    from bathysphere.core.errors import CallerError
    from bathysphere.harness.build import build

    if not isinstance(spec, Pregel):
        return as_local_user(build(spec, **services))
    if "messages" not in spec.channels:
        hint = "serve it and call its API: `bathysphere serve`"
        raise CallerError("The agent has no `messages` to chat with", hint=hint)
    return as_local_user(spec.copy(update=services))


def as_local_user(graph: "Graph") -> "Graph":
    """The graph with the person at the terminal as its user."""
    from bathysphere.core.run_context import RunContext, RunUser

    user = RunUser(RunContext(tenant=LOCAL.tenant, user=LOCAL.user))
    return graph.with_config(configurable={"langgraph_auth_user": user})


def has_settings_models(agent: "Agent") -> bool:
    """Whether the settings choose the agent's model."""
    from bathysphere.registry.agents import SpecSource

    return isinstance(agent.content, SpecSource)


def shared_documents(spec: "Spec | Graph", folder: Path | None) -> "Documents":
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
        hint = "`bathysphere chat --files FOLDER` works on your files"
        raise CallerError(f"{spec.name} has no tools for your files", hint=hint)
    return FolderDocuments(folder)


def has_argument_map(spec: "Spec | Graph") -> bool:
    """Whether an agent maintains an argument map."""
    from bathysphere.middleware.argument_map import ArgumentMapMiddleware

    layers = getattr(spec, "middleware", ())  # a custom graph has no layers
    return any(isinstance(layer, ArgumentMapMiddleware) for layer in layers)


def has_client_files(spec: "Spec | Graph") -> bool:
    """Whether an agent works on the person's documents."""
    from bathysphere.middleware.client_files import ClientFilesMiddleware

    layers = getattr(spec, "middleware", ())  # a custom graph has no layers
    return any(isinstance(layer, ClientFilesMiddleware) for layer in layers)


def about_files(spec: "Spec | Graph", folder: Path | None) -> tuple[str, ...]:
    """Notes about files and the map to show before a chat."""
    if not has_client_files(spec):
        return ()
    if folder is None:
        files = "No files are shared; use --files FOLDER to share a folder."
    else:
        files = f"The agent can read the text files in {folder}; you approve every change."
    commands = "/disclosures shows what was shared, /help all commands."
    if has_argument_map(spec):
        commands = "/map shows the argument map, /disclosures what was shared, /help all commands."
    return (files, commands)
