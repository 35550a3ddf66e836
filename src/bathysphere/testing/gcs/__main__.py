"""Run the test double as a process that exits when its standard input closes."""

import socket
import sys
import threading
from typing import Any

from bathysphere.testing.gcs.app import Double


def main() -> None:
    """Serve the buckets named on the command line, on a free port of loopback."""
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    config = uvicorn.Config(Double(sys.argv[1:]), log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    threading.Thread(target=_end_with_stdin, args=(server,), daemon=True).start()
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}", flush=True)  # noqa: T201  # read by the parent
    server.run(sockets=[listening])


def _end_with_stdin(server: Any) -> None:
    sys.stdin.buffer.read()
    server.should_exit = server.force_exit = True


if __name__ == "__main__":
    main()
