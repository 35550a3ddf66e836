"""Real processes of `bathysphere`, watched by a real Prometheus with the rules that ship.

Time is compressed: a minute of the rules is a second here, in windows and in `for`. Scrapes come
twice a second, as they would every 30 seconds.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from own_services import free_port

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "alerts.yaml"
PROJECT = Path(__file__).parent / "alert_project"


def program(name: str) -> str:
    """Where `prometheus` or `promtool` is."""
    found = shutil.which(name)
    assert found is not None, f"{name} is missing: scripts/services.sh installs it"
    return found


class Process:
    """A `bathysphere` command with a port for metrics."""

    def __init__(self, *arguments: str, project: Path = PROJECT, **environment: str) -> None:
        clean = {name: value for name, value in os.environ.items() if "BATHYSPHERE" not in name}
        self.port = free_port()
        options = (*arguments, "--metrics-port", str(self.port), "--only")
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from bathysphere.cli.main import main; main()", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=project,
            env={**clean, **environment},
        )
        self.errors: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        self.errors.extend(self._process.stderr)

    @property
    def address(self) -> str:
        """Where its metrics are."""
        return f"127.0.0.1:{self.port}"

    def line(self, containing: str) -> str:
        """Its next line of output with this in it."""
        for line in self._process.stdout:
            if containing in line:
                return line
        raise AssertionError(f"no line with {containing!r}: {''.join(self.errors)[-3000:]}")

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it at once: nothing it does is needed any more."""
        self._process.kill()
        self._process.wait(10)
        self._reader.join(5)
        self._process.stdout.close()
        self._process.stderr.close()


class Town:
    """The processes of one deployment."""

    def __init__(
        self, database_url: str, redis_url: str, *, project: Path = PROJECT, **environment: str
    ) -> None:
        self._project = project
        self._services = ("--database-url", database_url, "--redis-url", redis_url)
        self._environment = environment
        self._clients: list[httpx.Client] = []
        self.processes: list[Process] = []

    def api(self) -> httpx.Client:
        """Start an API process; return a client."""
        api = self._start("serve", "--no-worker", "--port", "0")
        url = next(w for w in api.line("in your browser").split() if w.startswith("http"))
        self._clients.append(httpx.Client(base_url=url, timeout=60))
        return self._clients[-1]

    def worker(self) -> Process:
        """Start a worker."""
        worker = self._start("worker")
        worker.line("Worker ready")
        return worker

    def _start(self, command: str, *options: str) -> Process:
        process = Process(
            command, *self._services, *options, project=self._project, **self._environment
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End all processes."""
        for client in self._clients:
            client.close()
        for process in self.processes:
            process.stop()


def compressed(text: str) -> str:
    """Rules or a query with seconds for minutes, in windows and in `for`."""
    seconds = {"m": 1, "h": 60}

    def shorten(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) * seconds[found[3]]}s"

    return re.sub(r"(\[|for: |:)(\d+)([mh])\b", shorten, text)


class Prometheus:
    """A Prometheus that scrapes twice a second."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def get(self, path: str, **parameters: str) -> Any:
        """Ask its API."""
        answer = self._client.get(f"/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression, now."""
        found: list[dict[str, Any]] = self.get("query", query=expression)["result"]
        return found

    def alerts(self, state: str = "firing") -> set[str]:
        """The names of the alerts in a state."""
        found = self.get("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in found if alert["state"] == state}

    def until(self, expression: str, seconds: float = 60) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.query(expression):
            assert time.monotonic() < until, f"finds nothing: {expression}"
            time.sleep(0.2)

    def wait_for(self, *names: str, seconds: float = 90) -> None:
        """Wait until all of these alerts have fired."""
        missing, until = set(names), time.monotonic() + seconds
        while missing and time.monotonic() < until:
            missing -= self.alerts()
            time.sleep(0.2)
        assert not missing, f"{missing} did not fire; pending: {self.alerts('pending')}"


@contextmanager
def prometheus(
    folder: Path, processes: list[Process], *, every: str = "500ms"
) -> Iterator[Prometheus]:
    """Scrape these processes, and evaluate the rules that ship."""
    (folder / "rules.yaml").write_text(compressed(RULES.read_text()))
    targets = [process.address for process in processes]
    config = {
        "global": {
            "scrape_interval": every,
            "scrape_timeout": every,
            "evaluation_interval": "500ms",
        },
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "bathysphere", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(config))
    port = free_port()
    command = [program("prometheus"), f"--config.file={folder / 'prometheus.yaml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait_until_ready(f"http://127.0.0.1:{port}", folder / "log")
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
                yield Prometheus(client)
        finally:
            server.kill()
            server.wait(10)


def _wait_until_ready(url: str, log: Path) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if httpx.get(f"{url}/-/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"Prometheus did not start: {log.read_text()[-2000:]}")
