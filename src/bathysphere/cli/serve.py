"""`bathysphere serve`: agents over HTTP, on this machine alone or as part of a deployment."""

import argparse
import asyncio
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bathysphere.core.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from bathysphere.server.serving import Ready
    from bathysphere.server.settings import ServerSettings

HELP = "serve the agents over HTTP"

TRY = """curl -N {url}/runs/stream -H 'content-type: application/json' -d '{body}'"""
BODY = (
    '{"assistant_id":"simple","stream_mode":"messages-tuple",'
    '"input":{"messages":[{"role":"user","content":"Hello"}]}}'
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags; each stands for a `BATHYSPHERE_…` variable."""
    where = parser.add_argument_group("where")
    where.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    where.add_argument("--port", type=int, help="the port (default: 8123, or the next free one)")
    where.add_argument("--data-dir", type=Path, metavar="FOLDER", help="where data is kept")
    add_services(where)
    who = parser.add_argument_group("who")
    who.add_argument("--auth", metavar="MODES", help="anonymous, or api-key and oidc")
    who.add_argument(
        "--allow-anonymous-anywhere",
        action="store_true",
        default=None,
        help="let in everyone who can reach the address, all as one user",
    )
    parser.add_argument("--no-worker", action="store_true", help="only the API; workers elsewhere")
    add_process(parser)


def add_services(group: Any) -> None:
    """Declare the services that `serve` and `worker` share."""
    group.add_argument("--database-url", metavar="URL", help="PostgreSQL (default: its own)")
    group.add_argument("--redis-url", metavar="URL", help="Redis (default: events in memory)")


def add_process(parser: argparse.ArgumentParser) -> None:
    """Declare what `serve` and `worker` share of a process."""
    parser.add_argument(
        "--concurrency", type=int, metavar="N", help="runs a worker does at a time (default: 8)"
    )
    parser.add_argument("--metrics-port", type=int, metavar="PORT", help="a port for Prometheus")
    parser.add_argument("--log-format", choices=("text", "json"), help="how lines are written")


def settings_of(args: argparse.Namespace) -> "ServerSettings":
    """The settings of the environment, with the flags of this command line before them."""
    from bathysphere.server.settings import ServerSettings

    names = {name for name in ServerSettings.model_fields if hasattr(args, name)}
    flags = {name: getattr(args, name) for name in names}
    return ServerSettings.from_environment(**flags, worker_concurrency=args.concurrency)


def prepare(settings: "ServerSettings") -> None:
    """Logs in one form; the libraries' warnings are for those who write them."""
    from bathysphere.server.observability.logs import set_up_logs

    warnings.simplefilter("ignore")
    style = settings.log_format or ("text" if sys.stderr.isatty() else "json")
    set_up_logs(format=style, level=settings.log_level, contents=settings.log_contents)


def run_loop(main: Any) -> None:
    """Run a process's main function on the fastest event loop there is."""
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
    _needs_the_server()
    works = not args.no_worker
    if not works and settings.redis_url is None:
        raise ConfigError(
            "without a worker here, events must come through Redis",
            hint="pass --redis-url, or leave --no-worker out",
        )
    print("Starting …", file=sys.stderr)
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.models.settings import ModelSettings
    from bathysphere.server.models import look_at
    from bathysphere.server.parts import graphs_of, research_of
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.research import Desk
    from bathysphere.server.serving import serve
    from bathysphere.server.workspaces import StorageSettings, Workspaces

    models = ModelSettings.from_environment()
    how = ResearchSettings.from_environment()
    research = research_of(settings, models, how)
    workspaces = Workspaces.open(StorageSettings.from_environment())

    def on_ready(ready: "Ready") -> None:
        _say(ready, settings, model=models.choice("main").name)

    run_loop(
        serve(
            settings,
            graphs=graphs_of(models, research=research, workspaces=workspaces),
            desk=Desk(models=models, research=research),
            works=works,
            on_ready=on_ready,
            payments=PaymentSettings.from_environment(),
            workspaces=workspaces,
            look_at_models=look_at(models),
            fetch=how.fetch.rules(),
        )
    )
    print("Stopped.", file=sys.stderr)
    return 0


def _say(ready: "Ready", settings: "ServerSettings", *, model: str) -> None:
    print(f"Bathysphere answers at {ready.url} (model: {model})")
    if settings.is_embedded:
        print(f"Data is kept in {settings.data_dir}. Ctrl-C stops everything.")
    elif settings.redis_url is None:
        print("Without Redis this must be the only process that uses its database.")
    if settings.is_anonymous:
        print(f"Try it:\n  {TRY.format(url=ready.url, body=BODY)}", flush=True)
    else:
        print("Callers show a key (`bathysphere keys create`) or a token.", flush=True)


def _needs_the_server() -> None:
    try:
        import fastapi
        import procrastinate
        import uvicorn
    except ImportError as error:
        raise missing_extra("`bathysphere serve`", "server") from error
    del fastapi, procrastinate, uvicorn
