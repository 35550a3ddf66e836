"""The tour of an agent that delegates work on a team's files: plan, task, approval, undo."""

from collections.abc import Sequence, Set

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from bathysphere.models.demo import team_words as words
from bathysphere.models.demo.past import Past, TourTurn, quoted, todos

SPECIALIST = "files"


def is_team(messages: Sequence[BaseMessage], tools: Set[str]) -> bool:
    """Whether the agent delegates all work on files, or is the specialist working on its task."""
    return ("task" in tools and "write_file" not in tools) or _is_specialist(messages)


def next_turn(messages: Sequence[BaseMessage], tools: Set[str]) -> TourTurn:
    """Decide the next turn of the agent or its specialist."""
    past = Past.of(messages, tools)
    if _is_specialist(messages):
        return _specialist_turn(past)
    if past.has_said(words.THE_END):
        return TourTurn(text=words.AFTERWARDS)
    if past.open("plan", "write_todos"):
        args = todos(words.TODOS, ("in_progress", "pending"))
        text = words.WELCOME + words.PLAN
        return TourTurn(text=text, step="plan", tool="write_todos", args=args)
    if "delegate" not in past.called:
        args = {"subagent_type": SPECIALIST, "description": words.ERRAND}
        return TourTurn(text=words.DELEGATE, step="delegate", tool="task", args=args)
    if past.done("plan") and past.open("tick_off", "write_todos"):
        args = todos(words.TODOS, ("completed", "completed"))
        return TourTurn(text=words.TICK_OFF, step="tick_off", tool="write_todos", args=args)
    report = quoted(past.results["delegate"].text) if "delegate" in past.results else ""
    return TourTurn(text=words.SUMMARY.format(report=report))


def _specialist_turn(past: Past) -> TourTurn:
    if past.open("write", "write_file"):
        args = {"file_path": words.NOTES, "content": words.NOTE}
        return TourTurn(text=words.WRITE, step="write", tool="write_file", args=args)
    if past.done("write"):
        return TourTurn(text=words.WRITTEN)
    last = past.messages[-1]
    reason = quoted(last.text) if isinstance(last, ToolMessage) else "there is no tool for it"
    return TourTurn(text=words.NOT_WRITTEN.format(reason=reason))


def _is_specialist(messages: Sequence[BaseMessage]) -> bool:
    first = next((one for one in messages if isinstance(one, HumanMessage)), None)
    return first is not None and first.text.strip() == words.ERRAND
