"""What stories run against: the server in a process of its own, its model, and one Chromium."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bathysphere.testing import ModelServer

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WEB = ROOT / "web"
SERVER = "postgresql://root@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379/7"


@contextmanager
def own_database() -> Iterator[str]:
    name = f"web_{secrets.token_hex(6)}"
    with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield f"{SERVER}/{name}"
    finally:
        with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def environment(model: ModelServer) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("BATHYSPHERE_", "OPENAI"))}
    return {
        **kept,
        "BATHYSPHERE_MODEL_MAIN": "openai:gpt-5",
        "BATHYSPHERE_MODEL_OPENAI_URL": model.openai_base_url,
        "BATHYSPHERE_MODEL_RETRIES": "0",
        "BATHYSPHERE_RUN_ATTEMPTS": "1",
        "OPENAI_API_KEY": "none",
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


@contextmanager
def rigged(folder: Path) -> Iterator[Rig]:
    """Everything, started and stopped together."""
    index = ROOT / "src" / "bathysphere" / "server" / "static" / "index.html"
    assert index.is_file(), "the browser app is not built: make web"
    with own_database() as database, ModelServer() as model:
        where = ["--port", "0", "--database-url", database, "--redis-url", REDIS]
        command = [sys.executable, "-W", "ignore", str(HERE / "serving.py"), *where]
        log = folder / "serve.log"
        browser = ["node", str(WEB / "stories" / "browser.mjs")]
        with (
            process(command, environment(model), log) as first,
            process(browser, dict(os.environ), folder / "browser.log") as endpoint,
        ):
            words = [word for word in first.split() if word.startswith("http")]
            assert words, log.read_text()
            assert endpoint.startswith("ws://"), (folder / "browser.log").read_text()
            yield Rig(url=words[0], browser=endpoint, model=model, log=log)


def tell(rig: Rig, name: str, *arguments: str, seconds: float) -> str:
    """Run a story; what it printed."""
    done = subprocess.run(
        ["node", str(WEB / "stories" / f"{name}.mjs"), *arguments],
        env={**os.environ, "STORY_URL": rig.url, "STORY_BROWSER": rig.browser},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
