"""Reads a tutorial and does what it says: writes its files, types its commands, clicks its buttons.

A block with `title="FILE"` is a file. In a `console` block `$ ` starts a command, `^C` stops the
server that was started last, and the other lines are what a command prints; `…` stands for any
text, and alone on a line for any lines. In the prose, "Open <URL>", "click **X**", "choose **X**",
"Type `text`", "press **Enter**" and "you see **X**" are steps in the browser.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

PORT = "8123"
"""The port that tutorials show; a test uses a free one."""
SECONDS = 60
"""How long a command may take, and a server to be ready."""
SERVERS = ("bathysphere serve", "bathysphere dev")
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_BROWSER = re.compile(
    r"(Open) <([^>]+)>|([Cc]lick|[Cc]hoose|[Yy]ou see) \*\*([^*]+)\*\*"
    r"|([Tt]ype) `([^`]+)`|([Pp]ress) \*\*(Enter)\*\*"
)
_END = "tutorial-command-ended"


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    path: str
    text: str


@dataclass
class Command:
    """A command that the reader types, and what it prints according to the page."""

    text: str
    shown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Stop:
    """Ctrl-C in the terminal of the server."""


@dataclass(frozen=True)
class Click:
    """A step in the browser: what to do, and with what."""

    kind: str
    target: str


Step = File | Command | Stop | Click


def read_steps(page: str) -> list[Step]:
    """The steps of a page, in their order."""
    steps: list[Step] = []
    end = 0
    for fence in _FENCE.finditer(page):
        steps += _clicks(page[end : fence.start()])
        end = fence.end()
        title = _TITLE.search(fence[2])
        if title:
            steps.append(File(title[1], fence[3]))
        elif fence[1] == "console":
            steps += _commands(fence[3])
        else:
            raise ValueError(
                f"A block of a tutorial is neither a file nor a console: {fence[0][:60]}"
            )
    return steps + _clicks(page[end:])


def _clicks(prose: str) -> list[Click]:
    prose = " ".join(prose.split())
    found = [[part for part in step if part] for step in _BROWSER.findall(prose)]
    return [Click(kind.lower(), target) for kind, target in found]


def _commands(block: str) -> list[Step]:
    steps: list[Step] = []
    for line in block.splitlines():
        if line == "^C":
            steps.append(Stop())
        elif line.startswith("$ "):
            steps.append(Command(line.removeprefix("$ ")))
        elif steps and isinstance(steps[-1], Command):
            steps[-1].shown.append(line)
        else:
            raise ValueError(f"Output without a command: {line}")
    return steps


def matches(shown: list[str], printed: str) -> bool:
    """Whether a command printed what the page shows."""
    lines = [
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown
    ]
    return re.fullmatch("".join(lines), printed) is not None


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Terminal:
    """One shell in a folder of its own, and the servers that were started from it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self._log = folder.parent / "server.log"
        self._servers: list[int] = []
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.run(Command("set -m"))  # so that Ctrl-C reaches a server

    def _environment(self) -> dict[str, str]:
        ours = ("BATHYSPHERE_", "OPENAI", "ANTHROPIC", "OLLAMA", "LM_STUDIO", "GOOGLE", "GEMINI")
        kept = {k: v for k, v in os.environ.items() if not k.startswith((*ours, "PYTEST"))}
        home, runtime = self.folder.parent / "home", self.folder.parent / "runtime"
        home.mkdir()
        runtime.mkdir(mode=0o700)
        return {
            **kept,
            "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0",
            "BATHYSPHERE_PORT": self.port,
            "COLUMNS": "80",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(runtime),  # as in a person's session
            "PYTEST_ADDOPTS": "-p no:asyncio",  # a plugin that a reader does not have
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def write(self, file: File) -> None:
        path = Path(self._type("pwd").strip()) / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(file.text), encoding="utf-8")

    def here(self, text: str) -> str:
        """A text of the page with the port of this test."""
        return text.replace(PORT, self.port)

    def run(self, command: Command) -> None:
        shown = [self.here(line) for line in command.shown]
        if command.text.startswith(SERVERS):
            self._serve(command, shown)
            return
        printed = self._type(self.here(command.text))
        assert matches(shown, printed), f"$ {command.text}\n{printed}\nThe page shows:\n{shown}"

    def _type(self, text: str) -> str:
        stdin, stdout = self._shell.stdin, self._shell.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{text}\necho {_END}\n")
        stdin.flush()
        lines = []
        late = Timer(SECONDS, self._shell.kill)
        late.start()
        while (line := stdout.readline()) and not line.endswith(f"{_END}\n"):
            lines.append(line)
        late.cancel()
        if (rest := line.removesuffix(f"{_END}\n")) and line:
            lines.append(f"{rest}\n")  # the command did not end its last line
        assert line, f"$ {text}\nnot finished after {SECONDS} s:\n{''.join(lines)}"
        return "".join(lines)

    def _serve(self, command: Command, shown: list[str]) -> None:
        self._log.write_text("")
        words = self._type(f"{self.here(command.text)} > {self._log} 2>&1 & echo $!").split()
        self._servers.append(int(words[-1]))
        until = time.monotonic() + SECONDS
        while not matches(shown, printed := self._log.read_text()):
            if time.monotonic() > until:
                raise TimeoutError(f"$ {command.text}\n{printed}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Ctrl-C in the terminal of the server that was started last."""
        process = self._servers.pop()
        os.killpg(process, signal.SIGINT)
        self._type(f"wait {process}")

    def close(self) -> None:
        while self._servers:
            self.stop()
        self._shell.communicate("exit\n", timeout=30)
