"""Start the real MCP servers beside the tests, and hubs that are connected to them."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from bathysphere.tools.mcp.config import read_config
from bathysphere.tools.mcp.hub import McpHub

HERE = Path(__file__).parent
PATIENCE = 40
"""Seconds to connect: starting Python takes long on a busy machine."""


class Kit:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "workshop.log"
        self._hubs: list[McpHub] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def acted(self) -> list[str]:
        """What tools that change something did."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def stdio(self, server: str, **options) -> dict:
        return {
            "command": sys.executable,
            "args": [str(HERE / f"{server}_server.py")],
            "env": {"WORKSHOP_LOG": str(self.log)},
            "bathysphere": {"connectSeconds": PATIENCE, **options},
        }

    def http(self, port: int, **options) -> dict:
        return {
            "url": f"http://127.0.0.1:{port}/mcp",
            "headers": {"Authorization": "Bearer ${WORKSHOP_TOKEN}"},
            "bathysphere": {"connectSeconds": PATIENCE, **options},
        }

    def config(self, servers: dict) -> Path:
        file = self.folder / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return file

    def hub(self, **servers: dict) -> McpHub:
        variables = {**os.environ, "WORKSHOP_TOKEN": "t0ken"}
        self._hubs.append(McpHub(read_config(self.config(servers), variables)))
        return self._hubs[-1]

    def start_http(self, port: int | None = None) -> tuple[int, subprocess.Popen[bytes]]:
        """The workshop over streamable HTTP."""
        port = port or free_port()
        process = subprocess.Popen(
            [sys.executable, str(HERE / "workshop_server.py"), str(port)],
            env={**os.environ, "WORKSHOP_LOG": str(self.log)},
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port, process
            time.sleep(0.1)
        raise TimeoutError("the HTTP server did not start")

    def close(self) -> None:
        for hub in self._hubs:
            hub.close()
        for process in self._processes:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
