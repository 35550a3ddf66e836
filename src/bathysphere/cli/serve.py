"""`bathysphere serve`: the web app and HTTP API, on one machine or as part of a deployment."""

import argparse
import sys
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bathysphere.cli.mcp_hub import configured_hub
from bathysphere.cli.targets import add_targets, find_selection, served_agents
from bathysphere.core.errors import ConfigError

if TYPE_CHECKING:
    from socket import socket

    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.engine.graphs import Graphs
    from bathysphere.middleware.memories import MemoryMode
    from bathysphere.models.settings import ModelSettings
    from bathysphere.registry.agents import Agent
    from bathysphere.registry.selection import Selection
    from bathysphere.server.process.api_processes import ApiProcess
    from bathysphere.server.process.lifecycle import Ready
    from bathysphere.server.process.served_models import BuildGraphs
    from bathysphere.server.process.settings import ServerSettings
    from bathysphere.server.workspaces.service import Workspaces
    from bathysphere.tools.mcp.hub import McpHub

    MakeGraphs = Callable[[Mapping[str, Agent]], Graphs]
    Companion = Callable[[Graphs, MakeGraphs], Coroutine[Any, Any, None]]

HELP = "open the workspace in your browser, and serve the agents over HTTP"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and the flags; each flag overrides a `BATHYSPHERE_…` variable."""
    add_targets(parser)
    add_network(parser)
    access = parser.add_argument_group("authentication")
    access.add_argument(
        "--auth", metavar="MODES", help="anonymous, project, or api-key and/or oidc"
    )
    access.add_argument(
        "--allow-anonymous-anywhere",
        action="store_true",
        default=None,
        help="allow everyone who can reach the address, as a single user",
    )
    parser.add_argument(
        "--no-worker", action="store_true", help="serve the API only; run workers separately"
    )
    parser.add_argument(
        "--api-processes",
        type=int,
        metavar="N",
        help="API processes that share the port, with --no-worker (default: 1)",
    )
    add_process(parser)


def add_network(parser: argparse.ArgumentParser) -> None:
    """Declare the address and storage flags that `serve` and `dev` share."""
    network = parser.add_argument_group("address and storage")
    network.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    network.add_argument(
        "--port", type=int, help="port to listen on (default: 8123, or the next free one)"
    )
    network.add_argument("--data-dir", type=Path, metavar="FOLDER", help="data folder")
    add_services(network)


def add_services(group: Any) -> None:
    """Declare the service flags that `serve` and `worker` share."""
    group.add_argument("--database-url", metavar="URL", help="PostgreSQL URL (default: embedded)")
    group.add_argument("--redis-url", metavar="URL", help="Redis URL (default: events in memory)")


def add_process(parser: argparse.ArgumentParser) -> None:
    """Declare the process flags that `serve` and `worker` share."""
    parser.add_argument(
        "--concurrency", type=int, metavar="N", help="concurrent runs per worker (default: 8)"
    )
    parser.add_argument(
        "--metrics-port", type=int, metavar="PORT", help="port for Prometheus metrics"
    )
    parser.add_argument("--log-format", choices=("text", "json"), help="log format")


def settings_of(args: argparse.Namespace) -> "ServerSettings":
    """Settings from the environment, overridden by command-line flags."""
    from bathysphere.server.process.settings import ServerSettings

    names = {name for name in ServerSettings.model_fields if hasattr(args, name)}
    flags = {name: getattr(args, name) for name in names}
    return ServerSettings.from_environment(**flags, worker_concurrency=args.concurrency)


def prepare(settings: "ServerSettings") -> None:
    """Configure logging and silence library warnings, which operators cannot act on."""
    from bathysphere.server.observability.logs import set_up_logs

    warnings.simplefilter("ignore")
    style = settings.log_format or ("text" if sys.stderr.isatty() else "json")
    set_up_logs(format=style, level=settings.log_level, contents=settings.log_contents)


def run_loop(main: Any) -> None:
    """Run a process's main coroutine, on uvloop if installed."""
    import asyncio

    factory: Callable[[], asyncio.AbstractEventLoop]
    try:
        from uvloop import new_event_loop as factory
    except ImportError:
        factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    settings = settings_of(args)
    prepare(settings)
    check_data_dir(settings)
    works = not args.no_worker
    if not works and settings.redis_url is None:
        raise ConfigError(
            "--no-worker requires Redis",
            hint="pass --redis-url, or omit --no-worker",
        )
    print("Starting…", file=sys.stderr)
    selection = find_selection(args.targets)
    if settings.api_processes > 1:
        return _share_port(settings, selection, is_only=args.only, works=works)
    agents = served_agents(selection, is_only=args.only)
    run_server(settings, agents, selection=selection, works=works)
    return 0


def _share_port(
    settings: "ServerSettings", selection: "Selection", *, is_only: bool, works: bool
) -> int:
    """Serve in several processes.

    Raises:
        ConfigError: They would need what only one process can have.
    """
    import os

    from bathysphere.server.process.api_processes import fork_api_processes
    from bathysphere.server.process.listener import listen

    if works or settings.is_embedded or not hasattr(os, "fork"):
        raise ConfigError(
            "Several API processes need PostgreSQL, Redis and workers of their own",
            hint="pass --no-worker, --redis-url and --database-url, and start `bathysphere worker`"
            " (not on Windows)",
        )
    listening = listen(settings.host, settings.port)
    process = fork_api_processes(settings.api_processes)
    if settings.metrics_port:
        port = settings.metrics_port + process.number
        settings = settings.model_copy(update={"metrics_port": port})
    run_server(
        settings,
        served_agents(selection, is_only=is_only),
        selection=selection,
        works=False,
        listening=listening,
        process=process,
    )
    return 0


def check_data_dir(settings: "ServerSettings") -> None:
    """Refuse a data folder that is a file.

    Raises:
        ConfigError: It is one.
    """
    if settings.data_dir.exists() and not settings.data_dir.is_dir():
        raise ConfigError(
            f"Data folder is a file: {settings.data_dir}", hint="pass a folder with --data-dir"
        )


def run_server(
    settings: "ServerSettings",
    agents: "Mapping[str, Agent]",
    *,
    selection: "Selection | None" = None,
    works: bool = True,
    listening: "socket | None" = None,
    process: "ApiProcess | None" = None,
    on_url: Callable[[str], None] | None = None,
    companion: "Companion | None" = None,
) -> None:
    """Serve agents until Ctrl-C or SIGTERM.

    Args:
        settings: Address, storage and limits.
        agents: The agents by name.
        selection: The projects, with what they set beside their graphs.
        works: Whether this process executes runs, too.
        listening: The socket that it shares with other processes.
        process: Which of these processes it is; only the first speaks.
        on_url: Called with the address when the server is ready.
        companion: Runs beside the server; gets the graphs, and a function that makes others.
    """
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.middleware.memories.settings import MemorySettings
    from bathysphere.models.settings import ModelSettings
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.process.assembly import research_of
    from bathysphere.server.process.lifecycle import serve
    from bathysphere.server.process.project_options import (
        ProjectOptions,
        load_options,
        with_project_auth,
    )
    from bathysphere.server.process.served_models import ServedModels, open_setup
    from bathysphere.server.research.service import ResearchService
    from bathysphere.server.workspaces.service import Workspaces
    from bathysphere.server.workspaces.settings import StorageSettings

    project = load_options(selection) if selection is not None else ProjectOptions()
    settings = with_project_auth(settings, project)
    environment = ModelSettings.from_environment()
    payments = PaymentSettings.from_environment()
    setup = open_setup(settings, environment, works=works, is_paid=payments.is_on)
    models = setup.settings if setup is not None else environment
    is_first = process is None or process.number == 0
    if is_first:
        warn_about_models(models)
    research_settings = ResearchSettings.from_environment()
    mcp = configured_hub()
    storage = StorageSettings.from_environment()
    workspaces = Workspaces.open(storage)

    notes = [f"Workspaces: {storage.summary}", server_policy_note(research_settings.policy_file)]
    announce = partial(_announce, settings=settings, model=models.choice("main").name, notes=notes)
    memories = MemorySettings.from_environment().memories
    config = research_of(settings, models, research_settings)
    research = ResearchService(models=models, research=config)
    served = ServedModels(
        models,
        graph_builder(settings, research_settings, workspaces, memories, mcp),
        loading=research.loading,
        find=setup.found if setup is not None else None,
    )
    graphs = served.graphs(agents)
    if setup is not None:
        setup.on_change(served.use)
    server = serve(
        settings,
        graphs=graphs,
        research=research,
        with_worker=works,
        on_ready=partial(
            _report_ready, announce=announce if is_first else None, process=process, on_url=on_url
        ),
        listening=listening,
        payments=payments,
        workspaces=workspaces,
        list_models=served.cards,
        model_setup=setup,
        fetch=research_settings.fetch.rules(),
        mcp=mcp,
        project=project,
        memories=memories,
        title_model=served.title_model if settings.titles else None,
    )
    run_loop(
        server if companion is None else _with_companion(server, companion(graphs, served.make))
    )
    if is_first:
        print("Stopped.", file=sys.stderr)


def graph_builder(
    settings: "ServerSettings",
    research_settings: "ResearchSettings",
    workspaces: "Workspaces | None",
    memories: "MemoryMode",
    mcp: "McpHub | None",
) -> "BuildGraphs":
    """A function that builds the graphs of agents with the models that it is given."""
    from bathysphere.agents.simple.settings import SimpleSettings
    from bathysphere.server.process.assembly import graphs_of, research_of

    web = research_settings.web_access()
    simple = SimpleSettings.from_environment().config(web, mcp=mcp)

    def build(models: "ModelSettings", agents: "Mapping[str, Agent]") -> "Graphs":
        return graphs_of(
            models,
            agents,
            research=research_of(settings, models, research_settings),
            simple=simple,
            workspaces=workspaces,
            web=web,
            memories=memories,
            mcp=mcp,
        )

    return build


async def _with_companion(
    server: Coroutine[Any, Any, None], companion: Coroutine[Any, Any, None]
) -> None:
    """Run both until the server ends; an error of either ends both."""
    import asyncio

    async with asyncio.TaskGroup() as group:
        task = group.create_task(companion)
        await server
        task.cancel()


def server_policy_note(path: Path | None) -> str | None:
    """Say which policy a server uses, or that it does not use the one in its folder."""
    from bathysphere.agents.research.settings import PREFIX
    from bathysphere.policy.file import local_policy_file

    if path is not None:
        return f"Research policy: {path}"
    if (local := local_policy_file()) is None:
        return None
    return f"Research policy: the one that ships; set {PREFIX}POLICY_FILE={local} to use {local}"


def _report_ready(
    ready: "Ready",
    *,
    announce: "Callable[[Ready], None] | None",
    process: "ApiProcess | None",
    on_url: Callable[[str], None] | None,
) -> None:
    """Tell whoever waits for this process."""
    if process is not None:
        process.report_ready()
    if announce is not None:
        announce(ready)
    if on_url is not None:
        on_url(ready.url)


def _announce(
    ready: "Ready", *, settings: "ServerSettings", model: str, notes: Sequence[str | None]
) -> None:
    print(f"Open {ready.url} in your browser. Model: {model}")
    if settings.is_embedded:
        print(f"Data is stored in {settings.data_dir}. Press Ctrl-C to stop.")
    elif settings.redis_url is None:
        print("Without Redis, this must be the only process using the database.")
    if not settings.is_anonymous:
        is_own = "project" in settings.auth
        way = (
            "the project's own" if is_own else "API key (`bathysphere keys create`) or bearer token"
        )
        print(f"Authentication: {way}.")
    for note in filter(None, notes):
        print(note)
    sys.stdout.flush()


def warn_about_models(models: "ModelSettings") -> None:
    """Warn at startup about models that are unavailable, with a hint for each."""
    import asyncio

    from bathysphere.models.offered import offered_models
    from bathysphere.server.models.catalog import list_cards

    cards = asyncio.run(list_cards(models, offered_models(models)))
    unusable = {card.name: card for card in cards if not card.is_usable}
    for card in unusable.values():
        print(f"warning: Model unavailable: {card.detail}", file=sys.stderr)
        if card.hint:
            print(f"hint: {card.hint}", file=sys.stderr)
