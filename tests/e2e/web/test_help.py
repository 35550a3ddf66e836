"""The documentation at `/help`, in Chromium: search without a network, under its content policy."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
import uvicorn
from rigging import WEB, process, tell
from starlette.responses import PlainTextResponse

from bathysphere.server.asgi.security_headers import SecurityHeaders
from bathysphere.server.help_files import HelpFiles

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The pages of a folder, as the server has them; everything else is not there."""
    nothing = PlainTextResponse("nothing", status_code=404)
    app = SecurityHeaders(HelpFiles(nothing, folder=folder))
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    thread = Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        socket.close()


def test_the_documentation_is_read_and_searched_without_a_network(site, tmp_path):
    command = ["node", str(WEB / "stories" / "browser.mjs")]
    with (
        process(command, dict(os.environ), tmp_path / "browser.log") as endpoint,
        served(site) as url,
    ):
        tell(SimpleNamespace(url=url, browser=endpoint, told={}), "help", seconds=150)
