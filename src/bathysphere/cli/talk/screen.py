"""What the person sees: words as they come, tool calls, the todo list, what a run has used.

Everything an agent, a file or a tool says is data: control characters are shown, never obeyed, so
no text can move the cursor, hide a line or change what stands in an approval.
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
    Called,
    Custom,
    Disclosed,
    Event,
    Moved,
    Returned,
    Todos,
    Words,
)
from bathysphere.core.errors import BathysphereError
from bathysphere.core.usage import Total

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile(r"\s+")
_SHORT = 60
_QUIET = {"write_todos", "choose_move"}
"""Tools whose effect is shown in another way."""

MARKS = {"call": "→", "ok": "✓", "failed": "✗", "now": "▸", "later": "·", "cut": "…"}
MARKS |= {"open": "?", "again": "↺", "sent": "↑"}
PLAIN_MARKS = {"call": "->", "ok": "ok", "failed": "!!", "now": ">", "later": "-", "cut": "..."}
PLAIN_MARKS |= {"open": "?", "again": "~", "sent": "^"}
STATES = {"completed": ("ok", "green"), "in_progress": ("now", "bold"), "pending": ("later", "dim")}

_PATHS = ("file_path", "path", "file_id")
"""Arguments that say what a call is about; the others are left out then."""

Row = tuple[tuple[str, str], ...]
"""A line in parts, each with its style."""

LIMITS = {"model_calls": "model calls", "tool_calls": "tool calls", "seconds": "seconds of work"}


def safe(text: str) -> str:
    """The text with control characters made visible: an escape becomes its code."""
    return _UNSAFE.sub(lambda c: c[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


class Screen:
    """Shows a talk on a terminal, or as plain text in a pipe."""

    def __init__(
        self, *, plain: bool = False, out: TextIO | None = None, given: TextIO | None = None
    ) -> None:
        self._out = out or sys.stdout
        self._given = given or sys.stdin
        self.console = Console(
            file=self._out, no_color=plain or None, highlight=False, markup=False, emoji=False
        )
        self._colour = self.console.is_terminal and not self.console.no_color
        unicode = "utf" in (getattr(self._out, "encoding", None) or "utf-8").lower()
        self.marks = MARKS if unicode else PLAIN_MARKS
        self._flow = _Flow(self._out, self.console.width if self.console.is_terminal else None)
        self._calls: dict[str, Called] = {}
        self._speaking: bool | None = None
        self._asked = False

    # ── the run ──

    def show(self, event: Event) -> None:
        """Show one event of a run; what is said and what is done are set apart."""
        if isinstance(event, Called | Returned) and event.name in _QUIET and not _failed(event):
            return
        speaks = isinstance(event, Words) and event.agent == MAIN
        if self._speaking not in (None, speaks):
            self._line()
        self._speaking = speaks
        match event:
            case Words(agent=agent) if agent == MAIN:
                self._flow.write(safe(event.text))
            case Words():
                self._line(
                    ("  ", ""), (self._who(event.agent), "cyan"), (self.brief(event.text), "")
                )
            case Called():
                self._called(event)
            case Returned():
                self._returned(event)
            case _:
                self._show_state(event)

    def _show_state(self, event: Event) -> None:
        match event:
            case Todos():
                self._todos(event)
            case Moved():
                self._moved(event)
            case Disclosed():
                self._disclosed(event)
            case Custom():
                data = self.brief(event.data)
                self._line(("  ", ""), (self._who(event.agent), "cyan"), (data, "dim"))

    def _called(self, call: Called) -> None:
        self._calls[call.id] = call
        self._line(
            ("  ", ""),
            (self._who(call.agent), "cyan"),
            (f"{self.marks['call']} ", "dim"),
            (safe(call.name), "bold"),
            (f" {self._arguments(call)}".rstrip(), ""),
        )

    def _returned(self, result: Returned) -> None:
        mark, style = ("failed", "red") if result.failed else ("ok", "green")
        call = self._calls.pop(result.id, None)
        name = (call.sends if call else None) or result.name
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

    def _moved(self, move: Moved) -> None:
        if move.misfits:
            why = self.brief("; ".join(move.misfits))
            self._line((f"  {self.marks['again']} it words that again: {why}", "yellow"))
            return
        name = safe(move.move).replace("_", " ")
        chip = f" {name} " if self._colour else f"[{name}]"
        self._line(("  ", ""), (chip, "black on cyan"), (f" {self.brief(move.why)}", "dim"))

    def _disclosed(self, sent: Disclosed) -> None:
        for passage in sent.passages:
            where = f"{safe(passage['file'])} {passage['start']}-{passage['end']}"
            size = _count(passage["bytes"], "byte")
            self._line((f"  {self.marks['sent']} left this device: {where}, {size}", "magenta"))

    def _who(self, agent: str) -> str:
        return f"  {safe(agent)} " if agent != MAIN else ""

    def brief(self, value: Any) -> str:
        """A value in a few words, on one line."""
        line = _SPACES.sub(" ", safe(_plain(value))).strip()
        return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}{self.marks['cut']}"

    def _arguments(self, call: Called) -> str:
        if call.sends:
            return f"{safe(call.sends)}: {self.brief(call.args.get('description', ''))}"
        path = next((call.args[name] for name in _PATHS if call.args.get(name)), None)
        if path:
            return self.brief(path)
        return self.brief(", ".join(f"{k}={_plain(v)}" for k, v in call.args.items()))

    # ── around it ──

    def note(self, text: str) -> None:
        """A line of ours about the talk."""
        self._line((text, "dim"))

    def block(self, lines: list[tuple[str, str]]) -> None:
        """Indented lines, each with a style."""
        for line, style in lines:
            self._line(("    ", ""), (safe(line), style))

    def rows(self, rows: Iterable[Row]) -> None:
        """Indented lines in parts, each part with its style."""
        for row in rows:
            self._line(("    ", ""), *((safe(text), style) for text, style in row))

    def print(self, what: RenderableType, *, indent: int = 0) -> None:
        """Show something that Rich draws; its texts must be safe."""
        self._flow.end()
        with self.console.capture() as drawn:
            self.console.print(Padding(what, (0, 0, 0, indent)))
        for line in drawn.get().rstrip("\n").split("\n"):
            self._out.write(f"{line.rstrip()}\n")

    def heading(self, text: str) -> None:
        """A line that asks for attention."""
        self._asked = True
        self._line()
        self._line((f"  {safe(text)}", "bold yellow"))

    def error(self, error: Exception) -> None:
        """What went wrong, and what to do."""
        if not isinstance(error, BathysphereError):
            self._line((f"error: {type(error).__name__}: {safe(str(error))}", "red"))
            return
        self._line((f"error: {safe(error.message)}", "red"))
        if error.hint:
            self._line((f"hint: {safe(error.hint)}", ""))

    def used(self, used: Total) -> None:
        """What the run used, and the limit that ended it, if one did."""
        self._flow.end()
        self._line()
        if used.stopped:
            what = LIMITS.get(used.stopped["limit"], used.stopped["limit"])
            self._line((f"stopped at its limit of {used.stopped['max']:g} {what}", "yellow"))
        counts = (
            _count(used.model_calls, "model call"),
            _count(used.tool_calls, "tool call"),
            _count(used.tokens, "token"),
            f"{used.seconds:.1f} s",
        )
        self._line((f" {self.marks['later']} ".join(counts), "dim"))

    def gap(self) -> None:
        """An empty line, and nothing before it to set apart."""
        self._line()
        self._speaking = None

    def answered(self) -> None:
        """The person's answers are in: set apart what comes now, if they were asked anything."""
        if self._asked:
            self.gap()
        self._asked = False

    def ask(self, prompt: str) -> str:
        """Ask the person for one line.

        Raises:
            EOFError: If nothing more will come.
        """
        self._flow.end()
        if self._given is sys.stdin and sys.stdin.isatty():
            bold = f"\001\x1b[1m\002{prompt}\001\x1b[0m\002" if self._colour else prompt
            return input(f"{bold} > ")
        line = self._given.readline()
        if not line:
            raise EOFError
        # In a pipe nobody types, so the answer is written out: the transcript can be read.
        self._line((f"{prompt} > {safe(line.rstrip())}", ""))
        return line.rstrip("\n")

    def _line(self, *parts: tuple[str, str]) -> None:
        self._flow.end()
        self.console.print(Text.assemble(*parts), soft_wrap=True)


class _Flow:
    """Text that comes in pieces, wrapped between words where the width is known."""

    def __init__(self, out: TextIO, width: int | None) -> None:
        self._out = out
        self._width = width
        self._column = 0

    def write(self, text: str) -> None:
        """Write a piece; a word that would not fit begins the next line."""
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
        """Close the line if one is open."""
        if self._column:
            self._put("\n", 0)

    def _put(self, text: str, column: int) -> None:
        self._out.write(text)
        self._column = column


def _failed(event: Called | Returned) -> bool:
    return isinstance(event, Returned) and event.failed


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def args_lines(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Arguments of a call, whole: one line each, long text below its name."""
    lines: list[tuple[str, str]] = []
    for name, value in args.items():
        text = _plain(value)
        if "\n" in text:
            lines += [(f"{name}:", "bold"), *((f"  {line}", "") for line in text.splitlines())]
        else:
            lines.append((f"{name}: {text}", ""))
    return lines


def choose(screen: Screen, choices: Sequence[str]) -> str:
    """Ask until one of the choices is named, by its letter or in full."""
    letters = _letters(choices)
    shown = ", ".join(f"{word} ({letter})" for letter, word in letters.items())
    while True:
        said = screen.ask(f"  {shown}").strip().lower()
        choice = letters.get(said) or (said if said in choices else None)
        if choice:
            return choice
        screen.note(f"    type one of {', '.join(letters)}")


def _letters(choices: Iterable[str]) -> dict[str, str]:
    """A letter for each choice: its first that is free."""
    letters: dict[str, str] = {}
    for word in choices:
        letters[next(letter for letter in word if letter not in letters)] = word
    return letters
