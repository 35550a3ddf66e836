"""The next step of the tour, decided from the messages alone.

The tour keeps no state. Each of its tool calls has an id that names its step, so the history shows
which steps were taken; refused, failed and edited calls are results like any other.
"""

from collections.abc import Callable, Sequence, Set
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from bathysphere.models.demo import words
from bathysphere.models.demo.past import Past, TourTurn, quoted, todos


def next_turn(messages: Sequence[BaseMessage], tools: Set[str]) -> TourTurn:
    """Decide the next turn of a conversation in which `tools` are bound."""
    past = _Past.of(messages, tools)
    if past.ended:
        return TourTurn(text=words.AFTERWARDS)
    if not tools:
        return TourTurn(text=words.NO_TOOLS)
    turn = next((turn for turn in (step(past) for step in _STEPS) if turn), None) or _summary(past)
    return TourTurn(text=past.opening + turn.text, step=turn.step, tool=turn.tool, args=turn.args)


# ── past steps ──


class _Past(Past):
    """The progress of this tour."""

    __slots__ = ()

    @property
    def ended(self) -> bool:
        """Whether the summary was given."""
        return self.has_said(words.THE_END)

    @property
    def asked(self) -> bool:
        """Whether the question was asked, with the tool or in plain text."""
        return "ask" in self.called or self.has_said(words.ASKED)

    @property
    def answer(self) -> str:
        """The user's answer, or an empty string."""
        if "ask" in self.called:
            return quoted(self.results["ask"].text) if self.done("ask") else ""
        after = False
        for message in self.messages:
            if after and isinstance(message, HumanMessage):
                return quoted(message.text)
            after = after or (isinstance(message, AIMessage) and words.ASKED in message.text)
        return ""

    @property
    def opening(self) -> str:
        """The start of the next text: the welcome, or a comment on the last step."""
        if not any(isinstance(message, AIMessage) for message in self.messages):
            return words.WELCOME
        last = self.messages[-1]
        if isinstance(last, ToolMessage) and last.status == "error":
            return words.NOT_DONE.format(reason=quoted(last.text) or "no reason was given")
        asked_last = isinstance(last, HumanMessage) or (
            isinstance(last, ToolMessage) and last.tool_call_id == self.id_of("ask")
        )
        return words.THANKS.format(answer=self.answer) if asked_last and self.answer else ""


# ── the steps, in order: each returns its turn, or None if it was taken or is not possible ──


def _plan(past: _Past) -> TourTurn | None:
    if not past.open("plan", "write_todos"):
        return None
    args = todos(words.TODOS, ("in_progress", "pending", "pending", "pending"))
    return TourTurn(text=words.PLAN, step="plan", tool="write_todos", args=args)


def _write(past: _Past) -> TourTurn | None:
    if not past.open("write", "write_file"):
        return None
    first = next((m.text for m in past.messages if isinstance(m, HumanMessage)), "")
    content = words.NOTE.format(asked=quoted(first), gap=words.GAP)
    args = {"file_path": words.NOTES, "content": content}
    return TourTurn(text=words.WRITE, step="write", tool="write_file", args=args)


def _read(past: _Past) -> TourTurn | None:
    if not past.done("write") or not past.open("read", "read_file"):
        return None
    args = {"file_path": words.NOTES}
    return TourTurn(text=words.READ, step="read", tool="read_file", args=args)


def _ask(past: _Past) -> TourTurn | None:
    if past.asked:
        return None
    if "ask_user" not in past.tools:
        return TourTurn(text=words.ASK_PLAINLY)
    args = {"question": words.QUESTION}
    return TourTurn(text=words.ASK, step="ask", tool="ask_user", args=args)


def _change(past: _Past) -> TourTurn | None:
    if not past.done("write"):
        return None
    if past.open("change", "edit_file"):
        answered = words.ANSWERED.format(answer=past.answer or words.NO_ANSWER)
        args = {"file_path": words.NOTES, "old_string": words.GAP, "new_string": answered}
        return TourTurn(text=words.CHANGE, step="change", tool="edit_file", args=args)
    if past.open("change", "delete"):
        args = {"file_path": words.NOTES}
        return TourTurn(text=words.DELETE, step="change", tool="delete", args=args)
    return None


def _tick_off(past: _Past) -> TourTurn | None:
    if not past.done("plan") or not past.open("tick_off", "write_todos"):
        return None
    done = (past.done("write"), past.done("read"), bool(past.answer), past.done("change"))
    args = todos(words.TODOS, ("completed" if step else "pending" for step in done))
    return TourTurn(text=words.TICK_OFF, step="tick_off", tool="write_todos", args=args)


_STEPS: tuple[Callable[[_Past], TourTurn | None], ...] = (
    _plan,
    _write,
    _read,
    _ask,
    _change,
    _tick_off,
)


def _summary(past: _Past) -> TourTurn:
    lines = (f"- {_seen(past, step, what)}" for step, what in words.SEEN.items())
    return TourTurn(text=words.SUMMARY.format(seen="\n".join(lines)))


def _seen(past: _Past, step: Any, what: str) -> str:
    if past.done(step) or (step == "ask" and past.answer):
        return what
    if step in past.called or (step in {"read", "change"} and "write" in past.called):
        return words.FAILED.format(what=what)
    return words.MISSING.format(what=what)
