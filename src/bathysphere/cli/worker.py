"""`bathysphere worker`: execute runs that API processes have queued."""

import argparse
import sys
from typing import TYPE_CHECKING

from bathysphere.cli.mcp_hub import configured_hub
from bathysphere.cli.serve import (
    add_process,
    add_services,
    graph_builder,
    prepare,
    run_loop,
    settings_of,
    warn_about_models,
)
from bathysphere.cli.targets import add_targets, find_selection, served_agents
from bathysphere.core.errors import ConfigError

if TYPE_CHECKING:
    from bathysphere.server.process.lifecycle import Ready

HELP = "run a worker (for use with `serve --no-worker`)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the targets and the flags; each flag overrides a `BATHYSPHERE_…` variable."""
    add_targets(parser)
    add_services(parser)
    add_process(parser)


def run(args: argparse.Namespace) -> int:
    """Work until SIGTERM or Ctrl-C; then finish the current steps and release the runs."""
    settings = settings_of(args)
    prepare(settings)
    if settings.database_url is None or settings.redis_url is None:
        raise ConfigError(
            "A worker needs the database and Redis that its API uses",
            hint="pass --database-url and --redis-url; `bathysphere serve` needs neither",
        )
    selection = find_selection(args.targets)
    agents = served_agents(selection, is_only=args.only)
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.middleware.memories.settings import MemorySettings
    from bathysphere.models.settings import ModelSettings
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.process.assembly import title_model_of
    from bathysphere.server.process.lifecycle import work
    from bathysphere.server.process.project_options import load_options
    from bathysphere.server.process.served_models import graphs_to_choose
    from bathysphere.server.workspaces.service import Workspaces
    from bathysphere.server.workspaces.settings import StorageSettings

    def on_ready(ready: "Ready") -> None:
        metrics = f", metrics at {ready.metrics_url}/metrics" if ready.metrics_url else ""
        print(f"Worker ready: {settings.worker_concurrency} runs at a time{metrics}", flush=True)

    models = ModelSettings.from_environment()
    warn_about_models(models)
    research_settings = ResearchSettings.from_environment()
    build = graph_builder(
        settings,
        research_settings,
        Workspaces.open(StorageSettings.from_environment()),
        MemorySettings.from_environment().memories,
        configured_hub(),
    )
    graphs = graphs_to_choose(build, models, agents)
    payments = PaymentSettings.from_environment()
    titles = title_model_of(models) if settings.titles else None
    project = load_options(selection, with_api=False)
    run_loop(
        work(
            settings,
            graphs=graphs,
            on_ready=on_ready,
            payments=payments,
            project=project,
            title_model=(lambda: titles) if titles is not None else None,
        )
    )
    print("Stopped.", file=sys.stderr)
    return 0
