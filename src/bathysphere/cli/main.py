"""`bathysphere`: finds the command, runs it, and turns errors into sentences and exit codes.

A command is a module of this folder with `HELP`, `add_arguments(parser)` and `run(args) -> int`.
Such a module imports the agent stack only when it runs, so that `--help` is quick.
"""

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol

from bathysphere.core.errors import BathysphereError

COMMANDS = (
    "chat",
    "research",
    "verify",
    "serve",
    "worker",
    "keys",
    "payments",
    "migrate",
    "agents",
    "models",
    "doctor",
)
"""In the order in which `--help` shows them."""

EXIT_CODES = {
    "config_error": 1,
    "model_unavailable": 1,
    "caller_error": 1,
    "not_allowed": 1,
    "upstream_error": 2,
}
"""By error code; every other error of ours is 1."""
USAGE_ERROR = 2
UNEXPECTED = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

DEBUG = "BATHYSPHERE_DEBUG"

EPILOG = """Start with `bathysphere chat`: without any model set up it gives a tour."""


class Command(Protocol):
    """What the module of a command offers."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the result is the exit code."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output went away; Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except BathysphereError as error:
        if os.environ.get(DEBUG):
            raise
        return _explain(error)
    except Exception as error:  # the last resort: a sentence, not a traceback
        if os.environ.get(DEBUG):
            raise
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"hint: this is a bug; {DEBUG}=1 shows where it happened", file=sys.stderr)
        return UNEXPECTED


def _run(argv: list[str]) -> int:
    wanted = argv[0] if argv else ""
    if wanted and not wanted.startswith("-") and wanted not in COMMANDS:
        return _unknown(wanted)
    # The modules of other commands are not needed to run one.
    parser = _parser([wanted] if wanted in COMMANDS else COMMANDS)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    return _module(args.command).run(args)


def _parser(commands: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bathysphere", description="Deep agents on a tether.", epilog=EPILOG
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
    """Prints the version; reads the package's metadata only when asked."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, *_: object) -> NoReturn:
        import bathysphere

        print(f"bathysphere {bathysphere.__version__}")
        raise SystemExit(0)


def _unknown(command: str) -> int:
    print(f"error: there is no command {command!r}", file=sys.stderr)
    close = difflib.get_close_matches(command, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean `bathysphere {close[0]}`?" if close else "see `bathysphere --help`"
    print(f"hint: {hint}", file=sys.stderr)
    return USAGE_ERROR


def _explain(error: BathysphereError) -> int:
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    return EXIT_CODES.get(error.code, 1)


if __name__ == "__main__":
    raise SystemExit(main())
