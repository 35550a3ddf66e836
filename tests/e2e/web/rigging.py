"""What stories run against: the server in a process of its own, its model, and one Chromium."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Protocol

from bathysphere.testing import ModelServer
from bathysphere.testing.postgres import temporary_database

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WEB = ROOT / "web"
REDIS = "redis://127.0.0.1:6379/7"


PAGE = b"""<html><head><title>The reef</title></head><body><nav>Home</nav><article><h1>The reef</h1>
<p>The reef is old, and it holds: so say all who have seen it from below.</p><p>Fish are many there,
and nobody has counted them in the forty years since the first dive.</p></article></body></html>"""


class Site(BaseHTTPRequestHandler):
    """A page of the web, which the server knows as site.example."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/reef" else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def environment(model: ModelServer, site: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("BATHYSPHERE_", "OPENAI"))}
    return {
        **kept,
        "BATHYSPHERE_MODEL_MAIN": "openai:gpt-5",
        "BATHYSPHERE_MODEL_OPENAI_URL": model.openai_base_url,
        "BATHYSPHERE_MODEL_RETRIES": "0",
        "BATHYSPHERE_RUN_ATTEMPTS": "1",
        "BATHYSPHERE_TITLES": "false",  # a title would take a turn of a story's script
        "BATHYSPHERE_RESEARCH_WHERE": "sample",
        "BATHYSPHERE_RESEARCH_SIGNING_KEY": "5a" * 32,
        "OPENAI_API_KEY": "none",
        "BATHYSPHERE_FETCH_PINNED_HOSTS": f"site.example={site}",
    }


@contextmanager
def process(command: list[str], env: dict[str, str], log: Path) -> Iterator[str]:
    """Its first line; ended as with Ctrl-C."""
    with log.open("w") as errors:
        child = subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.PIPE,
            text=True,
        )
    try:
        assert child.stdout is not None
        yield child.stdout.readline().strip()
    finally:
        child.terminate()
        try:
            child.wait(timeout=15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        for pipe in (child.stdout, child.stdin):
            if pipe is not None:
                pipe.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rig:
    """Everything a story runs against."""

    url: str
    browser: str
    model: ModelServer
    log: Path
    database: str
    told: dict[str, str]
    """What stories are told besides: names in their environment."""


@contextmanager
def rigged(
    folder: Path,
    more: Mapping[str, str] = MappingProxyType({}),
    told: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Rig]:
    """Everything, started and stopped together; `more` is for the server's environment."""
    index = ROOT / "src" / "bathysphere" / "server" / "static" / "index.html"
    assert index.is_file(), "the browser app is not built: make web"
    with temporary_database("web") as database, ModelServer() as model, site() as place:
        where = ["--port", "0", "--database-url", database, "--redis-url", REDIS]
        command = [sys.executable, "-W", "ignore", str(HERE / "serving.py"), *where]
        log = folder / "serve.log"
        browser = ["node", str(WEB / "stories" / "browser.mjs")]
        with (
            process(command, {**environment(model, place), **more}, log) as first,
            process(browser, dict(os.environ), folder / "browser.log") as endpoint,
        ):
            words = [word for word in first.split() if word.startswith("http")]
            assert words, log.read_text()
            assert endpoint.startswith("ws://"), (folder / "browser.log").read_text()
            yield Rig(
                url=words[0],
                browser=endpoint,
                model=model,
                log=log,
                database=database,
                told=dict(told),
            )


class WaitedInVain(AssertionError):
    """A story waited for something that the page did not show in time; it is told once more."""

    is_worth_repeating = True


SECONDS_TO_REPORT = 15
"""How long a story that hangs has to print its page before it is killed."""
WAITED_IN_VAIN = 75
"""How such a story exits (`web/stories/kit.mjs`)."""


class Staged(Protocol):
    """Where a story can be told."""

    @property
    def url(self) -> str: ...
    @property
    def browser(self) -> str: ...
    @property
    def told(self) -> Mapping[str, str]: ...


def tell(rig: Staged, name: str, *arguments: str, seconds: float) -> str:
    """Run a story; what it printed."""
    given = {
        "STORY_URL": rig.url,
        "STORY_BROWSER": rig.browser,
        "STORY_SECONDS": str(seconds - SECONDS_TO_REPORT),
    }
    done = subprocess.run(
        ["node", str(WEB / "stories" / f"{name}.mjs"), *arguments],
        env={**os.environ, **given, **rig.told},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    printed = f"{done.stdout}\n{done.stderr}"
    if done.returncode == WAITED_IN_VAIN:
        raise WaitedInVain(printed)
    assert done.returncode == 0, printed
    return done.stdout
