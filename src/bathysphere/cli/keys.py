"""`bathysphere keys`: manage API keys."""

import argparse
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.pool import Pool

DEFAULT_DAYS = 90
HELP = "create, list and revoke API keys"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `keys create|list|revoke`."""
    add_action = add_database_actions(parser)
    create = add_action("create", help="create a key; it is shown only once")
    create.add_argument("--tenant", required=True, help="tenant whose data the key can access")
    create.add_argument("--user", required=True, help="user within the tenant")
    create.add_argument("--label", default="", help="description of the key")
    create.add_argument(
        "--days",
        type=float,
        default=DEFAULT_DAYS,
        help=f"days until it expires (default: {DEFAULT_DAYS}; 0: never)",
    )
    add_action("list", help="list keys, without their secrets")
    revoke = add_action("revoke", help="revoke a key immediately")
    revoke.add_argument("key_id", help="key id, as shown by `list`")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    actions = {"create": _create, "list": _list, "revoke": _revoke}
    run_on_database(actions[args.action], args, auth=("api-key",))
    return 0


async def _create(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.core.identity import Owner
    from bathysphere.server.identity.api_keys import ApiKeys

    expires_at = SystemClock().now() + timedelta(days=args.days) if args.days else None
    owner = Owner(tenant=args.tenant, user=args.user)
    created = await ApiKeys(pool).create(owner, label=args.label, expires_at=expires_at)
    print(created.secret)
    print(
        f"Save this key now; it will not be shown again. Key id: {created.key.key_id}", flush=True
    )


async def _list(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.server.identity.api_keys import ApiKeys

    del args
    print(f"{'ID':<14}{'TENANT':<20}{'USER':<28}{'STATE':<10}{'LAST USED':<18}LABEL")
    now = SystemClock().now()
    for key in await ApiKeys(pool).all():
        state = key.state(now)
        owner = key.owner
        print(
            f"{key.key_id:<14}{owner.tenant:<20}{owner.user:<28}{state:<10}"
            f"{_timestamp(key.last_used_at):<18}{key.label}"
        )


async def _revoke(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.server.identity.api_keys import ApiKeys

    await ApiKeys(pool).revoke(args.key_id)
    print(f"Revoked {args.key_id}.")


def _timestamp(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "never"
