"""Servers as processes of their own, started and ended as a person would."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(
    *command: str, environment: dict[str, str], folder: Path
) -> Iterator["subprocess.Popen[str]"]:
    """A server in a folder; ended as with Ctrl-C. What it says on stderr is shown if it fails."""
    with (
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):
        try:
            yield server
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
            errors.seek(0)
            sys.stdout.write(errors.read())
        assert server.returncode == 0


def url_in(line: str) -> str:
    return next(word for word in line.split() if word.startswith("http"))
