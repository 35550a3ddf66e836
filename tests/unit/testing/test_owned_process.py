"""A server in a child process: a start that fails is attempted again, where the server says so."""

import sys

import pytest

from bathysphere.core.errors import UpstreamError
from bathysphere.testing.owned_process import TetheredServer

HANGS = "import sys; print('no port', flush=True); sys.stdin.read()"
LISTENS = "import sys; print('listening on http://127.0.0.1:9', flush=True); sys.stdin.read()"


class Unlucky(TetheredServer):
    """Hangs as often as it is told."""

    title = "unlucky server"
    start_seconds = 2.0
    attempts = 2

    def __init__(self, hangs: int) -> None:
        super().__init__()
        self.begun = 0
        self._hangs = hangs

    def _command(self) -> list[str]:
        self.begun += 1
        return [sys.executable, "-c", HANGS if self.begun <= self._hangs else LISTENS]


def test_a_start_that_hangs_is_attempted_again():
    with Unlucky(hangs=1) as server:
        assert server.url == "http://127.0.0.1:9"
    assert server.begun == 2


def test_the_last_attempt_says_what_the_server_printed():
    server = Unlucky(hangs=2)
    with pytest.raises(UpstreamError, match=r"did not start within .*: no port"):
        server.start()
    assert (server.begun, server.pid) == (2, None)
