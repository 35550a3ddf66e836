"""`bathysphere webhooks`: show the secret that a tenant's receivers verify signatures with."""

import argparse
from pathlib import Path

HELP = "show the secret that verifies a tenant's webhooks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `webhooks secret`."""
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="data folder")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    secret = actions.add_parser("secret", help="print a tenant's secret")
    secret.add_argument(
        "--tenant", default="local", help="tenant (default: that of a server without sign-in)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the secret."""
    from bathysphere.core.errors import ConfigError
    from bathysphere.engine.webhooks.signing import tenant_secret
    from bathysphere.server.process.assembly import webhook_options
    from bathysphere.server.process.settings import ServerSettings

    settings = ServerSettings.from_environment(data_dir=args.data_dir)
    options = webhook_options(settings)
    if options is None:
        raise ConfigError(
            "Webhooks are disabled",
            hint="set BATHYSPHERE_WEBHOOK_SECRET to at least 32 characters, in every process",
        )
    print(tenant_secret(options.master, args.tenant))
    return 0
