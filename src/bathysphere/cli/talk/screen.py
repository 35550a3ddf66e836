"""Terminal output of a chat: streamed text, tool calls, the todo list and usage.

Text from agents, files and tools is untrusted: control characters are escaped, so that no text can
move the cursor, hide a line or alter an approval prompt.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from bathysphere.cli.talk.events import (
    MAIN,
    AgentText,
    Custom,
    Disclosure,
    Event,
    MoveChosen,
    Todos,
    ToolCall,
    ToolResult,
)
from bathysphere.core.errors import BathysphereError
from bathysphere.core.invisible import reveal
from bathysphere.core.usage import Total
from bathysphere.core.words import count

_SPACES = re.compile(r"\s+")
_SHORT = 60
_QUIET = {"write_todos", "choose_move"}
"""Tools whose effects are shown by other events."""

MARKS = {"call": "→", "ok": "✓", "failed": "✗", "now": "▸", "later": "·", "cut": "…"}
MARKS |= {"open": "?", "again": "↺", "sent": "↑"}
PLAIN_MARKS = {"call": "->", "ok": "ok", "failed": "!!", "now": ">", "later": "-", "cut": "..."}
PLAIN_MARKS |= {"open": "?", "again": "~", "sent": "^"}
STATES = {"completed": ("ok", "green"), "in_progress": ("now", "bold"), "pending": ("later", "dim")}

_PATHS = ("file_path", "path", "file_id")
"""Arguments that identify a call; if one is present, the others are not shown."""

Row = tuple[tuple[str, str], ...]
"""A line as (text, style) parts."""

LIMITS = {"model_calls": "model calls", "tool_calls": "tool calls", "seconds": "seconds of work"}


def safe(text: str) -> str:
    """Escape control and invisible characters."""
    return reveal(text.replace("\r\n", "\n"))


class Screen:
    """Renders a chat on a terminal, or as plain text in a pipe."""

    def __init__(
        self, *, plain: bool = False, out: TextIO | None = None, source: TextIO | None = None
    ) -> None:
        self._out = out or sys.stdout
        self._source = source or sys.stdin
        self.console = Console(
            file=self._out, no_color=plain or None, highlight=False, markup=False, emoji=False
        )
        self._colour = self.console.is_terminal and not self.console.no_color
        unicode = "utf" in (getattr(self._out, "encoding", None) or "utf-8").lower()
        self.marks = MARKS if unicode else PLAIN_MARKS
        self._flow = _Flow(self._out, self.console.width if self.console.is_terminal else None)
        self._calls: dict[str, ToolCall] = {}
        self._speaking: bool | None = None
        self._was_prompted = False

    # ── the run ──

    def show(self, event: Event) -> None:
        """Show one event of a run; a blank line separates text from activity."""
        if isinstance(event, ToolCall | ToolResult) and event.name in _QUIET and not _failed(event):
            return
        speaks = isinstance(event, AgentText) and event.agent == MAIN
        if self._speaking not in (None, speaks):
            self._line()
        self._speaking = speaks
        match event:
            case AgentText(agent=agent) if agent == MAIN:
                self._flow.write(safe(event.text))
            case AgentText():
                self._line(
                    ("  ", ""), (self._who(event.agent), "cyan"), (self.brief(event.text), "")
                )
            case ToolCall():
                self._called(event)
            case ToolResult():
                self._returned(event)
            case _:
                self._show_state(event)

    def _show_state(self, event: Event) -> None:
        match event:
            case Todos():
                self._todos(event)
            case MoveChosen():
                self._moved(event)
            case Disclosure():
                self._disclosed(event)
            case Custom(data={"name": "prompt_progress", "payload": dict(reading)}):
                self._read(reading, event.agent)
            case Custom():
                data = self.brief(event.data)
                self._line(("  ", ""), (self._who(event.agent), "cyan"), (data, "dim"))

    def _read(self, reading: Mapping[str, Any], agent: str) -> None:
        """Say how much of the prompt a slow model has read."""
        if reading["read"] >= reading["total"]:
            return  # it answers now
        left = reading["seconds_left"]
        soon = f", about {left:.0f} s left" if left is not None else ""
        words = f"reading the prompt: {reading['read']:,} of {reading['total']:,} tokens{soon}"
        self._line(("  ", ""), (self._who(agent), "cyan"), (words, "dim"))

    def _called(self, call: ToolCall) -> None:
        self._calls[call.id] = call
        self._line(
            ("  ", ""),
            (self._who(call.agent), "cyan"),
            (f"{self.marks['call']} ", "dim"),
            (safe(call.name), "bold"),
            (f" {self._arguments(call)}".rstrip(), ""),
        )

    def _returned(self, result: ToolResult) -> None:
        mark, style = ("failed", "red") if result.failed else ("ok", "green")
        call = self._calls.pop(result.id, None)
        name = (call.subagent if call else None) or result.name
        self._line(
            ("  ", ""),
            (self._who(result.agent), "cyan"),
            (f"{self.marks[mark]} ", style),
            (safe(name), ""),
            (f" {self.brief(result.text)}", "dim"),
        )

    def _todos(self, todos: Todos) -> None:
        self._line(("  plan", "bold"))
        for item in todos.items:
            mark, style = STATES.get(item.get("status", ""), STATES["pending"])
            self._line(
                ("    ", ""), (self.marks[mark], style), (f" {self.brief(item['content'])}", style)
            )

    def _moved(self, move: MoveChosen) -> None:
        if move.misfits:
            why = self.brief("; ".join(move.misfits))
            self._line((f"  {self.marks['again']} rewording: {why}", "yellow"))
            return
        name = safe(move.move).replace("_", " ")
        chip = f" {name} " if self._colour else f"[{name}]"
        self._line(("  ", ""), (chip, "black on cyan"), (f" {self.brief(move.why)}", "dim"))

    def _disclosed(self, sent: Disclosure) -> None:
        for passage in sent.passages:
            where = f"{safe(passage['file'])} {passage['start']}-{passage['end']}"
            size = count(passage["bytes"], "byte")
            self._line(
                (f"  {self.marks['sent']} shared with the agent: {where}, {size}", "magenta")
            )

    def _who(self, agent: str) -> str:
        return f"  {safe(agent)} " if agent != MAIN else ""

    def brief(self, value: Any) -> str:
        """Shorten a value to fit on one line."""
        line = _SPACES.sub(" ", safe(_plain(value))).strip()
        return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}{self.marks['cut']}"

    def _arguments(self, call: ToolCall) -> str:
        if call.subagent:
            return f"{safe(call.subagent)}: {self.brief(call.args.get('description', ''))}"
        path = next((call.args[name] for name in _PATHS if call.args.get(name)), None)
        if path:
            return self.brief(path)
        return self.brief(", ".join(f"{k}={_plain(v)}" for k, v in call.args.items()))

    # ── notes and prompts ──

    def note(self, text: str) -> None:
        """Print a note."""
        self._line((text, "dim"))

    def block(self, lines: list[tuple[str, str]]) -> None:
        """Print indented lines, each with a style."""
        for line, style in lines:
            self._line(("    ", ""), (safe(line), style))

    def rows(self, rows: Iterable[Row]) -> None:
        """Print indented lines made of styled parts."""
        for row in rows:
            self._line(("    ", ""), *((safe(text), style) for text, style in row))

    def print(self, renderable: RenderableType, *, indent: int = 0) -> None:
        """Print a Rich renderable; its text must already be escaped."""
        self._flow.end()
        with self.console.capture() as drawn:
            self.console.print(Padding(renderable, (0, 0, 0, indent)))
        for line in drawn.get().rstrip("\n").split("\n"):
            self._out.write(f"{line.rstrip()}\n")

    def heading(self, text: str) -> None:
        """Print a highlighted line that introduces a request."""
        self._was_prompted = True
        self._line()
        self._line((f"  {safe(text)}", "bold yellow"))

    def error(self, error: Exception) -> None:
        """Print an error and its hint."""
        if not isinstance(error, BathysphereError):
            self._line((f"error: {type(error).__name__}: {safe(str(error))}", "red"))
            return
        self._line((f"error: {safe(error.message)}", "red"))
        if error.hint:
            self._line((f"hint: {safe(error.hint)}", ""))

    def used(self, used: Total) -> None:
        """Print the usage of a run, and the limit that stopped it, if any."""
        self._flow.end()
        self._line()
        if used.stopped:
            unit = LIMITS.get(used.stopped["limit"], used.stopped["limit"])
            self._line((f"stopped: limit of {used.stopped['max']:g} {unit} reached", "yellow"))
        corrections = sum(used.corrections.values())
        counts = (
            count(used.model_calls, "model call"),
            count(used.tool_calls, "tool call"),
            count(used.tokens, "token"),
            f"{used.seconds:.1f} s",
            *([count(corrections, "correction")] if corrections else []),
        )
        self._line((f" {self.marks['later']} ".join(counts), "dim"))

    def gap(self) -> None:
        """Print a blank line and reset the separation of text and activity."""
        self._line()
        self._speaking = None

    def answered(self) -> None:
        """Print a blank line after the person's answers, if they were asked anything."""
        if self._was_prompted:
            self.gap()
        self._was_prompted = False

    def ask(self, prompt: str) -> str:
        """Prompt the person for one line.

        Raises:
            EOFError: If input has ended.
        """
        self._flow.end()
        if self._source is sys.stdin and sys.stdin.isatty():
            bold = f"\001\x1b[1m\002{prompt}\001\x1b[0m\002" if self._colour else prompt
            return input(f"{bold} > ")
        line = self._source.readline()
        if not line:
            raise EOFError
        # Piped input is not echoed; print it so that the transcript is complete.
        self._line((f"{prompt} > {safe(line.rstrip())}", ""))
        return line.rstrip("\n")

    def _line(self, *parts: tuple[str, str]) -> None:
        self._flow.end()
        text = Text.assemble(*parts)
        if not self.console.is_terminal:
            self.console.print(text, soft_wrap=True)
            return
        # Wrap between words, with a hanging indent.
        indent = len(text.plain) - len(text.plain.lstrip(" "))
        self.console.print(Padding(text[indent:], (0, 0, 0, indent), expand=False))


class _Flow:
    """Wraps streamed text between words, if the width is known."""

    def __init__(self, out: TextIO, width: int | None) -> None:
        self._out = out
        self._width = width
        self._column = 0

    def write(self, text: str) -> None:
        """Write a piece; a word that does not fit starts the next line."""
        for piece in re.findall(r"\n|[^\S\n]+|\S+", text):
            if piece == "\n":
                self._put(piece, 0)
            elif self._width and self._column + len(piece) > self._width and self._column:
                self._put(
                    "\n" if piece.isspace() else f"\n{piece}", 0 if piece.isspace() else len(piece)
                )
            else:
                self._put(piece, self._column + len(piece))
        self._out.flush()

    def end(self) -> None:
        """End the current line, if any."""
        if self._column:
            self._put("\n", 0)

    def _put(self, text: str, column: int) -> None:
        self._out.write(text)
        self._column = column


def _failed(event: ToolCall | ToolResult) -> bool:
    return isinstance(event, ToolResult) and event.failed


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def args_lines(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All arguments of a call: one line each, multi-line text below its name."""
    lines: list[tuple[str, str]] = []
    for name, value in args.items():
        text = _plain(value)
        if "\n" in text:
            lines += [(f"{name}:", "bold"), *((f"  {line}", "") for line in text.splitlines())]
        else:
            lines.append((f"{name}: {text}", ""))
    return lines


def choose(screen: Screen, choices: Sequence[str]) -> str:
    """Prompt until the person picks a choice, by letter or in full."""
    letters = _letters(choices)
    prompt = ", ".join(f"{word} ({letter})" for letter, word in letters.items())
    while True:
        answer = screen.ask(f"  {prompt}").strip().lower()
        choice = letters.get(answer) or (answer if answer in choices else None)
        if choice:
            return choice
        screen.note(f"    please type one of: {', '.join(letters)}")


def _letters(choices: Iterable[str]) -> dict[str, str]:
    """Assign each choice its first unused letter."""
    letters: dict[str, str] = {}
    for word in choices:
        letters[next(letter for letter in word if letter not in letters)] = word
    return letters
