"""The same suite against LangChain's own development server: `make conformance-reference`.

Installs `langgraph-cli[inmem]` into an environment of its own (it is not part of this project, its
licence is Elastic 2.0), serves the suite's graphs with it on loopback, plays both clients, and
prints which behaviours differ. Last line: JSON.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from behaviours import JAVASCRIPT
from served_graphs import GRAPHS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VENV = ROOT / ".cache" / "reference"
# The graphs' own needs, at the versions we run them with ourselves.
PACKAGES = (
    "langgraph-cli[inmem]==0.4.40",
    "deepagents==0.7.32",
    "langchain==1.4.7",
    "langgraph==1.2.20",
    "pydantic-settings",
    "rich",
)
# The suite's two identities, as serving.py knows them.
AUTH = """
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def identify(headers: dict) -> dict:
    name = headers.get(b"x-user", b"alice").decode()
    return {"identity": name}

@auth.on
async def own(ctx, value):
    filters = {"owner": ctx.user.identity}
    if isinstance(value, dict) and isinstance(value.get("metadata", {}), dict):
        value.setdefault("metadata", {}).update(filters)
    return filters

@auth.on.assistants
async def everybodys(ctx, value):
    return None

@auth.on.store
async def store(ctx, value):
    value["namespace"] = (ctx.user.identity, *value.get("namespace", ()))
"""


def install() -> None:
    if (VENV / "bin" / "langgraph").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    uv = Path(sys.executable).parent / "uv"
    subprocess.run(
        [str(uv), "pip", "install", "-q", "-p", str(VENV / "bin" / "python"), *PACKAGES], check=True
    )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def reference() -> Iterator[str]:
    """The address of the reference server, while it runs."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "dependencies": ["."],
            "graphs": {name: f"{HERE / 'served_graphs.py'}:{name}" for name in GRAPHS},
            "auth": {"path": "./auth.py:auth"},
        }
        Path(folder, "auth.py").write_text(AUTH)
        Path(folder, "langgraph.json").write_text(json.dumps(config))
        path = os.pathsep.join(map(str, (ROOT / "src", HERE)))
        options = ("--allow-blocking", "--n-jobs-per-worker", "8")
        with langgraph_dev(Path(folder), *options, PYTHONPATH=path) as address:
            yield address


@contextlib.contextmanager
def langgraph_dev(folder: Path, *options: str, **variables: str) -> Iterator[str]:
    """The address of `langgraph dev`, started in a project's folder."""
    port = free_port()
    command = [str(VENV / "bin" / "langgraph"), "dev", "--no-browser", "--no-reload"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        **variables,
    }
    with Path(folder, "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            if not answers(address, process):
                log.seek(0)
                raise RuntimeError(f"langgraph dev did not start:\n{log.read()[-3000:]}")
            yield address
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()
            process.wait()


def answers(address: str, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(240):
        if process.poll() is not None:
            return False
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/ok", timeout=2):
            return True
        time.sleep(0.5)
    return False


def javascript(address: str) -> dict[str, str | None]:
    """One process for each behaviour: on another server one may never end."""
    with ThreadPoolExecutor(3) as pool:
        errors = pool.map(lambda name: behaviour(address, name), JAVASCRIPT)
        return {f"js: {name}": error for name, error in zip(JAVASCRIPT, errors, strict=True)}


def behaviour(address: str, name: str) -> str | None:
    try:
        done = subprocess.run(
            ["node", "suite.mjs", name],
            cwd=HERE / "node",
            env={**os.environ, "CONFORMANCE_URL": address},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it did not end within a minute"
    return json.loads(done.stdout)["error"] if done.stdout else done.stderr[-300:]


def python(address: str) -> dict[str, str | None]:
    files = map(str, sorted(HERE.glob("test_python*.py")))
    command = [sys.executable, "-m", "pytest", *files, "-q", "-rA"]
    done = subprocess.run(
        [*command, "--tb=line", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "CONFORMANCE_SERVER": address},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found: dict[str, str | None] = {}
    for outcome, name, why in re.findall(
        r"^(PASSED|FAILED|ERROR) \S+::(\w+)\S*(?: - (.*))?$", done.stdout, re.MULTILINE
    ):
        found[f"python: {name}"] = None if outcome == "PASSED" else why or outcome
    return found


def main() -> None:
    install()
    with reference() as address:
        results = {**javascript(address), **python(address)}
    differing = {name: why for name, why in results.items() if why is not None}
    told = [f"{name}\n    {str(why).splitlines()[0][:200]}" for name, why in differing.items()]
    same = len(results) - len(differing)
    told.append(json.dumps({"behaviours": len(results), "same": same, "differ": len(differing)}))
    sys.stdout.write("\n".join(told) + "\n")


if __name__ == "__main__":
    main()
