"""`bathysphere worker`: does the runs that APIs on other machines have put into the queue."""

import argparse
import sys
from typing import TYPE_CHECKING

from bathysphere.cli.serve import add_process, add_services, prepare, run_loop, settings_of
from bathysphere.core.errors import ConfigError

if TYPE_CHECKING:
    from bathysphere.server.serving import Ready

HELP = "do runs from the queue, beside `serve --no-worker`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags; each stands for a `BATHYSPHERE_…` variable."""
    add_services(parser)
    add_process(parser)


def run(args: argparse.Namespace) -> int:
    """Work until SIGTERM or Ctrl-C; then finish the steps in hand and hand the runs on."""
    settings = settings_of(args)
    prepare(settings)
    if settings.database_url is None or settings.redis_url is None:
        raise ConfigError(
            "a worker needs the database and the Redis that its API uses",
            hint="pass --database-url and --redis-url; one machine needs only `bathysphere serve`",
        )
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.models.settings import ModelSettings
    from bathysphere.server.parts import graphs_of, research_of
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.serving import work
    from bathysphere.server.workspaces import StorageSettings, Workspaces

    def on_ready(ready: "Ready") -> None:
        shown = f", metrics at {ready.metrics_url}/metrics" if ready.metrics_url else ""
        print(f"Worker ready: {settings.worker_concurrency} runs at a time{shown}", flush=True)

    models = ModelSettings.from_environment()
    research = research_of(settings, models, ResearchSettings.from_environment())
    workspaces = Workspaces.open(StorageSettings.from_environment())
    graphs = graphs_of(models, research=research, workspaces=workspaces)
    payments = PaymentSettings.from_environment()
    run_loop(work(settings, graphs=graphs, on_ready=on_ready, payments=payments))
    print("Stopped.", file=sys.stderr)
    return 0
