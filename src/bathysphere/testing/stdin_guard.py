"""Run a server until standard input closes, so that it never outlives the process that started it.

`python -m bathysphere.testing.stdin_guard URL command…` starts the command, reports that it listens
once the address answers, and stops it (its own process, never by name) when standard input closes.
"""

import contextlib
import os
import random
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

_START_SECONDS = 60.0
_STOP_SECONDS = 2.0
"""Less than the parent waits: a guard that is killed first leaves its server running."""
_PORTS = range(20_000, 22_700)
"""Below the kernel's ephemeral ports, even with 10,000 added, as SeaweedFS does."""


def main() -> None:
    """Run one command."""
    url, *command = sys.argv[1:]
    held = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_say_when_it_listens, args=(url, held), daemon=True).start()
    threading.Thread(target=_end_when_it_ends, args=(held,), daemon=True).start()
    sys.stdin.buffer.read()
    _stop(held)


def free_port(*also: int) -> int:
    """Find a port that is free, as are its offsets in `also`."""
    tried = random.sample(_PORTS, 200)
    for port in tried:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for added in (0, *also):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port + added))
            return port
    message = "No free port found"
    raise RuntimeError(message)


def _say_when_it_listens(url: str, held: "subprocess.Popen[bytes]") -> None:
    place = urlsplit(url)
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and held.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection((place.hostname, place.port), timeout=1).close()
            print(f"listening on {url}", flush=True)  # noqa: T201  # read by the parent
            return
        time.sleep(0.05)


def _end_when_it_ends(held: "subprocess.Popen[bytes]") -> None:
    os._exit(held.wait())  # closing standard input would not end the read in the main thread


def _stop(held: "subprocess.Popen[bytes]") -> None:
    held.terminate()
    try:
        held.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        held.kill()
        held.wait()


if __name__ == "__main__":
    main()
