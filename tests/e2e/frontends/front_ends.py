"""The stock front ends: their pages, the server that they call, and their flows in Chromium."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from bathysphere.testing.postgres import temporary_database

HERE = Path(__file__).parent
NODE = HERE / "node"
REDIS = "redis://127.0.0.1:6379/7"
COPILOTKIT = HERE / "copilotkit"
FRONT_ENDS = ("react", "svelte", "assistant-ui", "copilotkit")
FLOWS = ("chat", "history", "approval", "reload")
Result = dict[str, object]


class Pages(SimpleHTTPRequestHandler):
    """Serves the bundled pages, quietly."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(folder)))
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


@contextmanager
def process(command: list[str], env: dict[str, str], log: Path) -> Iterator[str]:
    """The first address that a command prints; ended with it."""
    with log.open("w") as errors:
        child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert child.stdout is not None
        words = (word for line in child.stdout for word in line.split())
        found = next((word for word in words if word.startswith("http")), None)
        assert found, log.read_text()
        yield found.rstrip("/")
    finally:
        child.terminate()
        try:
            child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rig:
    """What a front end runs against."""

    pages: str
    api: str
    folder: Path


@contextmanager
def rigged(folder: Path) -> Iterator[Rig]:
    """`bathysphere serve` of a LangGraph project, with the pages on an origin of their own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("BATHYSPHERE_", "OPENAI"))}
    with temporary_database("frontends") as database, pages(folder) as origin:
        where = ["--port", "0", "--database-url", database, "--redis-url", REDIS]
        target = str(HERE / "project" / "langgraph.json")
        command = [str(Path(sys.executable).parent / "bathysphere"), "serve", target, *where]
        env = {**kept, "BATHYSPHERE_CORS_ORIGINS": origin}
        with process(command, env, folder / "serve.log") as api:
            yield Rig(pages=origin, api=api, folder=folder)


@contextmanager
def copilotkit_runtimes(rig: Rig) -> Iterator[str]:
    """The addresses of two runtimes: the second knows nothing of what the first has streamed."""
    env = {**os.environ, "COPILOTKIT_TELEMETRY_DISABLED": "true", "DO_NOT_TRACK": "1"}
    command = ["node", str(COPILOTKIT / "runtime.mjs"), rig.api]
    with (
        process(command, env, rig.folder / "runtime-1.log") as first,
        process(command, env, rig.folder / "runtime-2.log") as second,
    ):
        yield f"{first} {second}"


def node(*arguments: str, seconds: float, **environment: str) -> str:
    done = subprocess.run(
        ["node", *arguments],
        cwd=NODE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def play(rig: Rig, front: str) -> dict[str, Result]:
    """Bundle a front end's page and drive it; each flow's result by its name."""
    packages = COPILOTKIT if front == "copilotkit" else NODE
    assert (packages / "node_modules").is_dir(), f"not installed: npm ci --prefix {packages}"
    node("build.mjs", front, str(rig.folder), seconds=60)
    drive = partial(node, "flows.mjs", front, rig.pages, rig.api, seconds=240)
    if front == "copilotkit":
        with copilotkit_runtimes(rig) as addresses:
            printed = drive(COPILOTKIT_RUNTIMES=addresses)
    else:
        printed = drive()
    results: list[Result] = [json.loads(line) for line in printed.splitlines()]
    return {str(result["flow"]): result for result in results}
