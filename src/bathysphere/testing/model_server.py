"""A scripted model server, for tests with the real OpenAI, Anthropic and Ollama clients.

`ModelServer` runs the npm package `@copilotkit/aimock` in a child process on a free loopback
port and plays the turns of a script in order, one per request, in any wire format. It is strict: an
extra request gets a 503, and `assert_done` fails on extra and missing requests. Clients retry
failures: set `max_retries=0` if a test counts requests.
"""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.testing.owned_process import TetheredServer
from bathysphere.testing.turns import Refused, ScriptError, Turn

PACKAGE = "@copilotkit/aimock"
VERSION = "1.43.0"
INPUT_TOKENS = 100
"""Input tokens per request; output is counted as in `ScriptedChatModel` (0 for Ollama)."""

_PRELOAD = Path(__file__).with_suffix(".mjs")
_LONGEST_HANG_MS = 30_000
_CHUNK_CHARACTERS = 12
# In strict mode the server needs a script to start; `play` replaces this one.
_PLACEHOLDER = {"fixtures": [{"match": {"sequenceIndex": 0}, "response": {"content": "-"}}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class WireRequest:
    """A request received from a client."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    """The parsed JSON body, or None."""


class ModelServer(TetheredServer):
    """Plays a script over the OpenAI, Anthropic and Ollama wire formats.

    Use it as a context manager, in sync or async code. `says`, `calls`, `together`, `refuses`,
    `slowly` and `hangs` (up to 30 seconds) can be played; `fails` and functions of the messages
    cannot.
    """

    title = "model server"
    start_seconds = 30.0

    def __init__(self, script: Sequence[Turn] = (), *, node_modules: Path | None = None) -> None:
        super().__init__()
        self._fixtures = _fixtures(script)
        self._node_modules = node_modules

    # ── where clients point ──

    @property
    def openai_base_url(self) -> str:
        """For `ChatOpenAI(base_url=...)`, with or without the Responses API."""
        return f"{self.url}/v1"

    @property
    def anthropic_base_url(self) -> str:
        """For `ChatAnthropic(base_url=...)`."""
        return self.url

    @property
    def ollama_base_url(self) -> str:
        """For `ChatOllama(base_url=...)`."""
        return self.url

    # ── the script ──

    def play(self, script: Sequence[Turn]) -> None:
        """Start a new script and clear the recorded requests."""
        self._fixtures = _fixtures(script)
        self._begin()

    def requests(self) -> list[WireRequest]:
        """Requests since the start of the script, in order."""
        # Not splitlines(): JSON may contain other characters that it treats as line breaks.
        lines = self._requests_file.read_bytes().split(b"\n")
        return [_wire_request(json.loads(line)) for line in lines if line]

    def assert_done(self) -> None:
        """Fail unless each turn was requested and nothing else."""
        entries = self._control("GET", "/journal")
        refused = [entry for entry in entries if _was_unexpected(entry)]
        if refused:
            paths = ", ".join(entry["path"] for entry in refused)
            message = f"{len(refused)} requests were not in the script: {paths}"
            raise ScriptError(message)
        played = sum(entry["response"].get("fixture") is not None for entry in entries)
        if played < len(self._fixtures):
            left = json.dumps([fixture["response"] for fixture in self._fixtures[played:]])
            count = f"{len(self._fixtures) - played} of {len(self._fixtures)}"
            message = f"{count} turns were not requested: {left}"
            raise ScriptError(message)

    # ── the process ──

    def _command(self) -> list[str]:
        node, program = _node(), _program(self._node_modules)
        fixtures = self.folder / "fixtures.json"
        fixtures.write_text(json.dumps(_PLACEHOLDER), encoding="utf-8")
        options = f"--host 127.0.0.1 --port 0 --strict --chunk-size {_CHUNK_CHARACTERS}".split()
        return [node, "--import", _PRELOAD.as_uri(), program, *options, "--fixtures", str(fixtures)]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AIMOCK_")}
        return {**kept, "BATHYSPHERE_REQUESTS": str(self._requests_file)}

    def _ready(self) -> None:
        self._begin()

    # ── the only lines that touch the server ──

    def _begin(self) -> None:
        self._control("POST", "/reset")
        self._requests_file.write_bytes(b"")
        if self._fixtures:
            self._control("POST", "/fixtures", {"fixtures": self._fixtures})

    @property
    def _requests_file(self) -> Path:
        return self.folder / "requests.jsonl"

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        address = f"{self.url}/__aimock{path}"
        response = httpx.request(method, address, json=body, trust_env=False, timeout=10)
        if response.is_error:
            message = f"Model server rejected {method} {path}: {response.text}"
            raise UpstreamError(message)
        return response.json()


# ── from turns to fixtures ──


def _fixtures(script: Sequence[object]) -> list[dict[str, Any]]:
    """Translate turns; `sequenceIndex` alone makes the server play them in order."""
    fixtures = []
    numbered = 0
    for index, turn in enumerate(script):
        if not isinstance(turn, Turn):
            message = f"Not a turn: {turn!r}"
            raise TypeError(message)
        match = {"sequenceIndex": index}
        fixture: dict[str, Any] = {"match": match, "response": _response(turn, numbered)}
        if turn.waits:
            wait = _LONGEST_HANG_MS if turn.seconds is None else round(turn.seconds * 1000)
            fixture["chaos"] = {"latencyMs": min(wait, _LONGEST_HANG_MS)}
        if turn.pause:
            fixture["latency"] = round(turn.pause * 1000)
        numbered += sum(call.id is None for call in turn.calls)
        fixtures.append(fixture)
    return fixtures


def _response(turn: Turn, numbered: int) -> dict[str, Any]:
    if isinstance(turn.error, Refused):
        kind = "rate_limit_error" if turn.error.status_code == 429 else "server_error"
        return {
            "error": {"message": turn.error.message, "type": kind},
            "status": turn.error.status_code,
        }
    if turn.error is not None:
        message = "The model server cannot raise: use refuses(status) instead of fails(error)"
        raise TypeError(message)
    response: dict[str, Any] = {}
    if turn.text:
        response["content"] = turn.text
    if turn.calls:
        tool_calls = response["toolCalls"] = []
        for call in turn.calls:
            numbered += call.id is None
            call_id = call.id or f"call_{numbered}"
            arguments = json.dumps(call.args)
            tool_calls.append({"id": call_id, "name": call.name, "arguments": arguments})
    if not response:
        message = "The model server cannot send an empty answer: pass text to says()"
        raise TypeError(message)
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": turn.tokens}
    return {**response, "usage": {**usage, "total_tokens": INPUT_TOKENS + turn.tokens}}


def _wire_request(line: dict[str, Any]) -> WireRequest:
    body = json.loads(line["text"]) if line["text"] else None
    return WireRequest(method=line["method"], path=line["path"], headers=line["headers"], body=body)


def _was_unexpected(entry: dict[str, Any]) -> bool:
    response = entry["response"]
    return response.get("fixture") is None and response["status"] >= 400


# ── what must be installed ──


def _node() -> str:
    found = shutil.which("node")
    if found is None:
        message = "The model server needs Node.js, but `node` is not on the PATH"
        raise ConfigError(message, hint="install Node.js 20.15 or newer, then npm ci in tests/node")
    return found


def _program(node_modules: Path | None) -> str:
    here = Path.cwd()
    places = (
        [node_modules]
        if node_modules
        else [
            folder / inner / "node_modules"
            for folder in (here, *here.parents)
            for inner in (".", "tests/node")
        ]
    )
    for place in places:
        program = place / PACKAGE / "dist" / "cli.js"
        if program.is_file():
            return str(program)
    message = f"The model server needs the npm package {PACKAGE}, which is not installed"
    hint = (
        f"in this repository: npm ci --prefix tests/node; elsewhere: npm i -D {PACKAGE}@{VERSION}"
    )
    raise ConfigError(message, hint=hint)
