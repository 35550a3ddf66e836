"""`bathysphere encryption`: make a key, count what is encrypted, and encrypt everything again."""

import argparse
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.key_rotation import KeyRotation
    from bathysphere.engine.database.pool import Pool

HELP = "make keys, and encrypt stored contents with the current one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `encryption new-key|status|rotate`."""
    add_action = add_database_actions(parser)
    new = add_action("new-key", help="print a new key for BATHYSPHERE_ENCRYPTION_KEYS")
    new.add_argument("key_id", metavar="ID", help="its name, such as 2026-11")
    add_action("status", help="count stored contents by the key they need")
    add_action("rotate", help="encrypt everything with the first key; can be stopped and repeated")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    if args.action == "new-key":
        _print_key(args.key_id)
        return 0
    run_on_database(_act, args)
    return 0


def _print_key(key_id: str) -> None:
    import base64
    import secrets

    from bathysphere.engine.encryption.keys import KEY_BYTES, MasterKeys

    entry = f"{key_id}:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"
    MasterKeys.parse(entry)
    print(entry)


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.errors import ConfigError
    from bathysphere.engine.database.key_rotation import KeyRotation

    rotation = KeyRotation(pool)
    if args.action == "status":
        await _print_counts(rotation, pool.encryption.writer)
        return
    if not pool.encryption.keys.keys:
        raise ConfigError("No encryption keys are set", hint="set BATHYSPHERE_ENCRYPTION_KEYS")
    async for progress in rotation.run():
        print(f"{progress.threads} threads, {progress.rows} values rewritten")
    for key in await rotation.forget_unused():
        print(f"Nothing needs key '{key}' any more. Remove it from the settings.")
    await _print_counts(rotation, pool.encryption.writer)


async def _print_counts(rotation: "KeyRotation", writer: str | None) -> None:
    counts = await rotation.count()
    print(f"{'KEY':<34}{'VALUES':>10}  WHAT")
    for what, by_key in counts.items():
        for key, count in sorted(by_key.items()):
            print(f"{key or 'plain text':<34}{count:>10}  {what}")
    left = sum(
        n for by_key in counts.values() for key, n in by_key.items() if key != (writer or "")
    )
    if left:
        values = "1 value needs" if left == 1 else f"{left} values need"
        print(f"{values} to be rewritten: run `bathysphere encryption rotate`.")
