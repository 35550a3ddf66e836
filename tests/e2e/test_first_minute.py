"""The first minute: from `pip install` to a streamed answer, with no service and no model."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
LIMIT = 60.0

pytestmark = [pytest.mark.first_minute, pytest.mark.timeout(400)]


def clean_environment(home: Path) -> dict[str, str]:
    """Nothing that names a model, a service or this checkout."""
    ours = ("BATHYSPHERE_", "OLLAMA", "LM_STUDIO", "OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "PG")
    unwanted = ("VIRTUAL_ENV", "PYTHONPATH", "DEEPAGENTS_MODEL_PROVIDER", "XDG_DATA_HOME")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours) and k not in unwanted}
    # uv's cache stays where it is; the person's data folder is a new one.
    cache = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))
    return {**kept, "HOME": str(home), "UV_CACHE_DIR": cache}


def built_wheel(folder: Path) -> Path:
    command = [UV, "build", "--wheel", "--out-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


@contextmanager
def serving(venv: Path, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`bathysphere serve` with no arguments; ended as with Ctrl-C."""
    errors = folder / "errors"
    with (
        errors.open("w") as file,
        subprocess.Popen(
            [str(venv / "bin" / "bathysphere"), "serve"],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        ) as server,
    ):
        try:
            first = server.stdout.readline()
            assert "answers at http://127.0.0.1:" in first, errors.read_text()
            yield next(word for word in first.split() if word.startswith("http"))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        assert server.returncode == 0, errors.read_text()


def streamed_answer(url: str) -> tuple[str, int]:
    """What the agent said first, and in how many pieces it came."""
    question = {"role": "user", "content": "Hello, what can you do?"}
    body = {
        "assistant_id": "simple",
        "stream_mode": "messages-tuple",
        "input": {"messages": [question]},
    }
    pieces = []
    with httpx.stream("POST", f"{url}/runs/stream", json=body, timeout=30) as response:
        assert response.status_code == 200, response.read()
        event = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: ") and event == "messages":
                message = json.loads(line.removeprefix("data: "))[0]
                if message["type"] == "AIMessageChunk" and isinstance(message["content"], str):
                    pieces.append(message["content"])
    return "".join(pieces), len([piece for piece in pieces if piece])


def test_from_install_to_a_streamed_answer_takes_less_than_a_minute(tmp_path):
    assert UV, "uv is needed to make the fresh environment"
    wheel = built_wheel(tmp_path / "dist")
    home, venv = tmp_path / "home", tmp_path / "venv"
    home.mkdir()
    environment = clean_environment(home)
    python = str(venv / "bin" / "python")
    subprocess.run([UV, "venv", "--python", sys.executable, str(venv)], check=True, env=environment)

    began = time.monotonic()
    install = [UV, "pip", "install", "--python", python, f"{wheel}[server,embedded]"]
    subprocess.run(install, check=True, env=environment, cwd=tmp_path)
    installed = time.monotonic()
    with serving(venv, environment, tmp_path) as url:
        text, pieces = streamed_answer(url)
        seconds = time.monotonic() - began
    (tmp_path / "figures.json").write_text(
        json.dumps({"install_s": round(installed - began, 1), "total_s": round(seconds, 1)})
    )
    assert "Welcome aboard" in text
    assert pieces > 3
    assert (home / ".local" / "share" / "bathysphere" / "postgres" / "PG_VERSION").exists()
    assert seconds < LIMIT
