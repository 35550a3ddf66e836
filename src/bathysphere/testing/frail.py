"""A scripted model that fails in the ways of small language models, by seed.

`FrailChatModel` takes a script or a rule like `ScriptedChatModel`, which is what the model would do
if it were able to, and spoils a share of its turns. Which turns, and how, depends on the seed and
on the number of the call alone.

A turn that only comes in a bad form (`fenced`, `tagged`, `prose`) is played; a script does not move
on when a turn is replaced, so that a model that is asked again can do better.
"""

import threading
from collections.abc import Sequence
from random import Random
from typing import Any, Literal, get_args

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

from bathysphere.testing.frail_turns import SPOILS, Bound, Moment
from bathysphere.testing.scripted import ScriptedChatModel
from bathysphere.testing.turns import ScriptError, Turn
from bathysphere.testing.unplanned import EMPTY_PLAN, is_unplanned

Mode = Literal[
    "repeats",
    "fenced",
    "tagged",
    "wrong_types",
    "empty",
    "forgotten_arguments",
    "wrong_language",
    "premature_end",
    "prose",
    "alternating",
    "unknown_tool",
    "stuck_plan",
]
MODES: tuple[Mode, ...] = get_args(Mode)
"""The ways to fail, each seen in a real small model."""

KEEPS_TURN = frozenset(("fenced", "tagged", "prose"))
"""Modes that change the form of a turn and nothing else."""


class FrailChatModel(ScriptedChatModel):
    """A scripted model that spoils a share of its turns.

    Example:
        ```python
        from bathysphere.testing import FrailChatModel, says

        model = FrailChatModel(script=[says("Hello.")], modes=["empty"], rate=1.0)
        assert model.invoke("Hi").text == ""
        ```
    """

    modes: Sequence[Mode] = Field(default=MODES, min_length=1)
    """The ways to fail; one of them is drawn for each spoiled turn."""
    rate: float = Field(default=0.2, ge=0, le=1)
    """The share of turns that are spoiled; 1 is a model that never recovers."""
    seed: int = 1
    model_name: str = "frail"

    _state: "_Progress" = PrivateAttr(default_factory=lambda: _Progress())

    @property
    def failures(self) -> list[Mode]:
        """How the spoiled turns failed, in order."""
        return self._state.failures

    def assert_done(self) -> None:
        """Fail unless every turn of the script was played."""
        left = len(self.script) - self._state.played
        if self.answer is None and left:
            message = f"{left} of {len(self.script)} turns were not played"
            raise ScriptError(message)

    @property
    def _next(self) -> Any:
        played = self._state.played
        return self.script[played] if played < len(self.script) else None

    def _take(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Turn:
        bound = kwargs.get("tools") or ()
        tools = tuple(_bound(tool) for tool in getattr(bound, "originals", bound))
        if self.answer is None and is_unplanned([tool.name for tool in tools], self._next):
            return EMPTY_PLAN
        number = self._record.add(messages, getattr(bound, "originals", bound))
        draw = Random(f"{self.seed}/{number}")  # noqa: S311  # a test, not a secret
        mode = draw.choice(self.modes) if draw.random() < self.rate else None
        turn = self._intended(messages)
        if mode is None or mode in KEEPS_TURN:
            self._state.play()
        if mode is None:
            return turn
        self._state.fail(mode)
        return SPOILS[mode](Moment(turn=turn, messages=messages, tools=tools, draw=draw))

    def _intended(self, messages: list[BaseMessage]) -> Turn:
        if self.answer is not None:
            return self.answer(messages)
        turn = self._next
        if turn is None:
            message = f"The script has only {len(self.script)} turns"
            raise ScriptError(message)
        return turn if isinstance(turn, Turn) else turn(messages)


class _Progress:
    """Data shared by a model and its copies."""

    def __init__(self) -> None:
        self.played = 0
        self.failures: list[Mode] = []
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Progress":
        return self

    def play(self) -> None:
        with self._lock:
            self.played += 1

    def fail(self, mode: Mode) -> None:
        with self._lock:
            self.failures.append(mode)


def _bound(tool: Any) -> Bound:
    function = convert_to_openai_tool(tool)["function"]
    return Bound(name=function["name"], schema=function.get("parameters") or {})
