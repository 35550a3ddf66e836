"""The first minute: from `pip install` to a streamed answer, with no service and no model."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from processes import running, url_in

LIMIT = 60.0
NEW_LIMIT = 30.0

pytestmark = [pytest.mark.first_minute, pytest.mark.timeout(400)]


@contextmanager
def serving(command: str, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`bathysphere serve` with no arguments."""
    with running(command, "serve", environment=environment, folder=folder) as server:
        first = server.stdout.readline()
        assert first.startswith("Open http://127.0.0.1:")
        assert "in your browser" in first
        assert server.stdout.readline().startswith("Data is stored in ")
        assert server.stdout.readline().startswith("Workspaces: none (set ")
        yield url_in(first)


def streamed_answer(url: str, agent: str = "simple") -> tuple[str, int]:
    """What the agent said first, and in how many pieces it came."""
    question = {"role": "user", "content": "Hello, what can you do?"}
    body = {
        "assistant_id": agent,
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


def test_from_install_to_a_streamed_answer_takes_less_than_a_minute(
    plain_install, tmp_path, within
):
    home = tmp_path / "home"
    environment = plain_install.environment(home)
    began = time.monotonic()
    with serving(plain_install.command, environment, tmp_path) as url:
        text, pieces = streamed_answer(url)
        seconds = plain_install.seconds + time.monotonic() - began
        page = httpx.get(url).text
        key = plain_install.run("keys", "create", "--tenant", "t", "--user", "u", cwd=tmp_path)
        keys = plain_install.run("keys", "list", cwd=tmp_path)
        afterwards, _ = streamed_answer(url)
    assert "Welcome aboard" in text
    assert pieces > 3
    assert "<title>" in page
    assert (home / ".local" / "share" / "bathysphere" / "postgres" / "PG_VERSION").exists()
    within(seconds, LIMIT)
    # An operator lets a colleague in while the server runs, on the server's own database.
    assert key.returncode == 0, key.stderr
    assert key.stdout.startswith("bsk_")
    assert " u " in keys.stdout
    assert "Welcome aboard" in afterwards


def test_a_new_project_answers_within_half_a_minute(plain_install, tmp_path, within):
    began = time.monotonic()
    made = plain_install.run("new", "x", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    environment = plain_install.environment(tmp_path / "home")
    command = (plain_install.command, "dev", "--no-browser", "--port", "0")
    with running(*command, environment=environment, folder=tmp_path / "x") as dev:
        text, _ = streamed_answer(url_in(dev.stdout.readline()), agent="x")
        seconds = time.monotonic() - began
    assert "Welcome aboard" in text
    within(seconds, NEW_LIMIT)
