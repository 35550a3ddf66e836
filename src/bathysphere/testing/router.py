"""The router of a deployment with several cells, for tests: nginx with the file that ships."""

import os
import shutil
import sys
from pathlib import Path

from bathysphere.core.errors import ConfigError
from bathysphere.testing.owned_process import TetheredServer
from bathysphere.testing.stdin_guard import free_port


class RouterServer(TetheredServer):
    """nginx before a directory of cells; a context manager."""

    title = "router"
    attempts = 2  # another process may take a port before it listens

    def __init__(self, shipped: Path, *, directory: str) -> None:
        """`shipped` is `deploy/router/nginx.conf`; `directory` is the directory's host and port."""
        super().__init__()
        self._shipped = shipped
        self._directory = directory

    def _command(self) -> list[str]:
        program = shutil.which("nginx")
        if program is None:
            raise ConfigError("nginx is not installed", hint="run scripts/services.sh")
        router, refusal = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        used = {
            "worker_processes auto": "worker_processes 1",
            "127.0.0.1:8000": router,
            "127.0.0.1:8010": self._directory,
            "127.0.0.1:8011": refusal,
        }
        text = self._shipped.read_text(encoding="utf-8")
        for shown, real in used.items():
            text = text.replace(shown, real)
        (self.folder / "nginx.conf").write_text(text, encoding="utf-8")
        # Started as root it would become another user, who cannot write below this folder.
        user = ["-g", "user root;"] if os.geteuid() == 0 else []
        leash = [sys.executable, "-m", "bathysphere.testing.stdin_guard", f"http://{router}"]
        return [*leash, program, "-p", str(self.folder), "-c", "nginx.conf", *user]
