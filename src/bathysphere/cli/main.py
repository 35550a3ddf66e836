"""The `bathysphere` entry point: dispatches to commands and maps errors to messages and exit codes.

A command is a module in this package with `HELP`, `add_arguments(parser)` and `run(args) -> int`.
It imports the agent stack inside `run`, so that `--help` stays fast.
"""

import argparse
import difflib
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn, Protocol

from bathysphere.cli.failures import explain_failure, innermost, print_error

COMMANDS = (
    "chat",
    "research",
    "policy",
    "verify",
    "new",
    "dev",
    "serve",
    "worker",
    "keys",
    "users",
    "runs",
    "usage",
    "budgets",
    "audit",
    "payments",
    "webhooks",
    "migrate",
    "backup",
    "restore",
    "encryption",
    "cells",
    "agents",
    "models",
    "eval",
    "mcp",
    "doctor",
)
"""In the order shown by `--help`."""

EXIT_CODES = {
    "config_error": 1,
    "model_unavailable": 1,
    "caller_error": 1,
    "not_allowed": 1,
    "upstream_error": 2,
    "request_refused": 2,
}
"""Exit code per error code; 1 for all other Bathysphere errors."""
USAGE_ERROR = 2
UNEXPECTED = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

DEBUG = "BATHYSPHERE_DEBUG"
ENV_FILE = ".env"

EPILOG = """Start with `bathysphere chat`: with no model configured, it gives a tour."""


class Command(Protocol):
    """Interface of a command module."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return its exit code."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    # Imports create many objects and little garbage; collecting after every 700 objects, which is
    # Python's default, makes a start 15 % slower.
    gc.set_threshold(50_000, 20, 20)
    try:
        return _run(words)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone; Python would raise again when it flushes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # last resort: a message, not a traceback
        if os.environ.get(DEBUG):
            raise
        return _explain(error, command=words[0] if words else "")


def _run(argv: list[str]) -> int:
    argv = _with_env_file(argv)
    if argv[:1] == ["help"]:  # `bathysphere help [COMMAND]`
        argv = [*argv[1:2], "--help"]
    command = argv[0] if argv else ""
    if command and not command.startswith("-") and command not in COMMANDS:
        return _unknown(command)
    # The modules of other commands are not needed to run one.
    parser = create_parser([command] if command in COMMANDS else COMMANDS)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    return _module(args.command).run(args)


def _with_env_file(argv: list[str]) -> list[str]:
    """Load `.env` or `--env-file FILE` into the environment; existing variables win."""
    path, is_explicit = Path(ENV_FILE), False
    for index, word in enumerate(argv):
        if word == "--env-file" and index + 1 < len(argv):
            path, is_explicit, argv = Path(argv[index + 1]), True, argv[:index] + argv[index + 2 :]
            break
        if word.startswith("--env-file="):
            path, is_explicit = Path(word.partition("=")[2]), True
            argv = argv[:index] + argv[index + 1 :]
            break
    if is_explicit or path.is_file():
        from bathysphere.core.env_file import parse_env_file

        found = parse_env_file(path.read_text(encoding="utf-8"), name=str(path))
        new = {name: value for name, value in found.items() if name not in os.environ}
        os.environ.update(new)
        if new:
            print(f"Read {', '.join(sorted(new))} from {path}.", file=sys.stderr)
    return argv


def create_parser(commands: Sequence[str]) -> argparse.ArgumentParser:
    """Create the parser of these commands, whose modules it imports."""
    parser = argparse.ArgumentParser(
        prog="bathysphere", description="Deep agents on a tether.", epilog=EPILOG
    )
    parser.add_argument(
        "--env-file", metavar="FILE", help="read variables from FILE (default: .env, if it exists)"
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in commands:
        module = _module(name)
        module.add_arguments(choices.add_parser(name, help=module.HELP, description=module.HELP))
    return parser


def _module(command: str) -> Command:
    return import_module(f"bathysphere.cli.{command}")


class _Version(argparse.Action):
    """Prints the version; reads package metadata only when used."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, *_: object) -> NoReturn:
        import bathysphere

        print(f"bathysphere {bathysphere.__version__}")
        raise SystemExit(0)


def _unknown(command: str) -> int:
    print(f"error: Unknown command: {command}", file=sys.stderr)
    close = difflib.get_close_matches(command, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean `bathysphere {close[0]}`?" if close else "see `bathysphere --help`"
    print(f"hint: {hint}", file=sys.stderr)
    return USAGE_ERROR


def _explain(error: Exception, *, command: str) -> int:
    """Print the error and its hint, and return the exit code."""
    known = explain_failure(error, command=command)
    if known is None:
        error = innermost(error)
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"hint: this is a bug; set {DEBUG}=1 for a traceback", file=sys.stderr)
        return UNEXPECTED
    print_error(known)
    return EXIT_CODES.get(known.code, 1)


if __name__ == "__main__":
    raise SystemExit(main())
