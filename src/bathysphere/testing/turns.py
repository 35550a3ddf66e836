"""Turns of a scripted model, one per call.

`says` answers with text, `calls` with one tool call, `together` with several in one message,
`fails` raises, `refuses` answers with an HTTP error, `hangs` keeps the caller waiting and `slowly`
delays a streamed answer.
`ScriptedChatModel` plays turns in process; `ModelServer` plays the same turns over HTTP.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


class ScriptError(AssertionError):
    """The calls of the model do not match the script."""


class Refused(Exception):
    """The HTTP error of `refuses`, as raised by an in-process model."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(f"{status_code}: {message}")
        self.status_code = status_code
        self.message = message


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call; a call without an `id` is numbered when it is played."""

    name: str
    args: dict[str, Any]
    id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One answer of the model. Build it with `says`, `calls`, `together`, `fails` or `hangs`."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    error: BaseException | type[BaseException] | None = None
    waits: bool = False
    seconds: float | None = None
    pause: float = 0.0
    """Seconds between chunks of a streamed answer."""

    @property
    def tokens(self) -> int:
        """Output tokens: one per four characters."""
        asked = sum(len(call.name) + len(json.dumps(call.args)) for call in self.calls)
        return (len(self.text) + asked) // 4

    def __str__(self) -> str:
        if self.error is not None:
            return f"fails({self.error!r})"
        names = ", ".join(call.name for call in self.calls)
        said = f"calls {names}" if names else f"says {self.text!r}"
        return f"hangs, then {said}" if self.waits else said


def says(text: str) -> Turn:
    """Answer with text."""
    return Turn(text=text)


def calls(name: str, args: Mapping[str, Any] | None = None, /, **keywords: Any) -> Turn:
    """Call one tool.

    Keywords are the tool's arguments, whatever they are called. Where the arguments are given as
    a mapping, the one keyword allowed is `id`, the id of the call: `calls("x", {"a": 1}, id="c1")`.
    """
    if args is None:
        return Turn(calls=(Call(name=name, args=keywords),))
    if keywords.keys() - {"id"}:
        message = "Pass tool arguments as a mapping or as keywords, not both"
        raise TypeError(message)
    return Turn(calls=(Call(name=name, args=dict(args), id=keywords.get("id")),))


def together(*turns: Turn, text: str = "") -> Turn:
    """Put several tool calls, and perhaps some text, into one message."""
    if any(not turn.calls for turn in turns):
        message = "together() takes turns made by calls()"
        raise TypeError(message)
    return Turn(text=text, calls=tuple(call for turn in turns for call in turn.calls))


def fails(error: BaseException | type[BaseException], *, after: str = "") -> Turn:
    """Raise `error`; when streaming, after the text of `after`."""
    return Turn(error=error, text=after)


def refuses(status_code: int, message: str = "Refused by the script.") -> Turn:
    """Answer with an HTTP error such as 429 or 500; in process it is raised as `Refused`."""
    return Turn(error=Refused(status_code, message))


def hangs(seconds: float | None = None, *, then: Turn | None = None) -> Turn:
    """Wait for `seconds`, or until the caller gives up, and then play `then`."""
    return replace(then or says("Sorry for the wait."), waits=True, seconds=seconds)


def slowly(turn: Turn, *, pause: float = 0.05) -> Turn:
    """Stream the answer with `pause` seconds between chunks."""
    return replace(turn, pause=pause)
