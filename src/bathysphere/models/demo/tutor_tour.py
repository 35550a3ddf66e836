"""The next step of the tutor's tour: files, an argument map, a question, a change.

Like the other tour it keeps no state: the ids of its tool calls show which steps were taken, and
refused or failed calls are results like any other.
"""

import re
from collections.abc import Callable, Sequence, Set

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from bathysphere.models.demo import tutor_words as words
from bathysphere.models.demo.past import Past, TourTurn, quoted, todos

PICKS = "Picked"
"""The schema with which the tutor requests only a move."""
TUTOR = "propose_node"
"""The tool that only a tutor has."""

_MAX_CLAIM = 300
_MIN_QUOTE = 8


def is_tutor(tools: Set[str]) -> bool:
    """Whether these are the tools of the tutor, or its request for a move."""
    return TUTOR in tools or PICKS in tools


def next_turn(messages: Sequence[BaseMessage], tools: Set[str]) -> TourTurn:
    """Decide the next turn of a conversation with the tutor."""
    if PICKS in tools:
        first = "Tutor: " not in messages[-1].text
        move, why = words.FIRST_MOVE if first else words.NEXT_MOVE
        return TourTurn(text="", step="move", tool=PICKS, args={"move": move, "why": why})
    past = Past.of(messages, tools)
    if past.has_said(words.THE_END):
        return TourTurn(text=words.AFTERWARDS)
    turn = next((turn for turn in (step(past) for step in _STEPS) if turn), None) or _summary(past)
    return TourTurn(text=_opening(past) + turn.text, step=turn.step, tool=turn.tool, args=turn.args)


def _opening(past: Past) -> str:
    if not past.has_said(words.WELCOME):
        return words.WELCOME
    last = past.messages[-1]
    if not isinstance(last, ToolMessage) or last.status != "error":
        return ""
    if last.tool_call_id == past.id_of("list"):
        return words.NOTHING
    return words.NOT_DONE.format(reason=quoted(last.text))


# ── the steps, in order ──


def _plan(past: Past) -> TourTurn | None:
    if not past.open("plan", "write_todos"):
        return None
    args = todos(words.TODOS, ("in_progress", "pending", "pending", "pending"))
    return TourTurn(text=words.PLAN, step="plan", tool="write_todos", args=args)


def _note(past: Past) -> TourTurn | None:
    if not past.open("note", "write_file"):
        return None
    args = {"file_path": words.NOTES, "content": words.NOTED}
    return TourTurn(text=words.NOTE, step="note", tool="write_file", args=args)


def _list(past: Past) -> TourTurn | None:
    if not past.open("list", "list_user_files"):
        return None
    return TourTurn(text=words.LIST, step="list", tool="list_user_files")


def _read(past: Past) -> TourTurn | None:
    document = _document(past)
    if not document or not past.open("read", "read_user_file"):
        return None
    return TourTurn(text=words.READ, step="read", tool="read_user_file", args={"file_id": document})


def _claim(past: Past) -> TourTurn | None:
    if not past.open("claim", TUTOR):
        return None
    first = next((m.text for m in past.messages if isinstance(m, HumanMessage)), "")
    said = _shortened(first)
    args = {"kind": "claim", "text": said, "said": said}
    return TourTurn(text=words.CLAIM, step="claim", tool=TUTOR, args=args)


def _quote(past: Past) -> TourTurn | None:
    line = _quotable(past)
    if not line or not past.open("quote", "propose_quote"):
        return None
    args = {"text": words.EVIDENCE, "file_id": _document(past), "quote": line}
    return TourTurn(
        text=words.QUOTE, step="quote", tool="propose_quote", args=args | _link(past, "target")
    )


def _ask(past: Past) -> TourTurn | None:
    if not past.open("ask", "ask_user"):
        return None
    args = {"question": words.QUESTION}
    return TourTurn(text=words.ASK, step="ask", tool="ask_user", args=args)


def _premise(past: Past) -> TourTurn | None:
    if not past.done("ask") or not past.done("claim") or not past.open("premise", TUTOR):
        return None
    said = _shortened(past.results["ask"].text)
    args = {"kind": "premise", "text": said, "said": said, "relation": "supports"}
    return TourTurn(
        text=words.PREMISE, step="premise", tool=TUTOR, args=args | _link(past, "target")
    )


def _review(past: Past) -> TourTurn | None:
    nodes = [node for step in ("claim", "premise", "quote") if (node := _node(past, step))]
    if not nodes or not past.open("review", "review_nodes"):
        return None
    args = {"nodes": nodes[:2]}
    return TourTurn(text=words.REVIEW, step="review", tool="review_nodes", args=args)


def _write(past: Past) -> TourTurn | None:
    if not past.done("list") or not past.open("write", "write_user_file"):
        return None
    args = {"title": words.TITLE, "content": words.DOCUMENT, "description": words.DESCRIPTION}
    return TourTurn(text=words.WRITE, step="write", tool="write_user_file", args=args)


def _patch(past: Past) -> TourTurn | None:
    written = re.match(r"Written \((.*)\)\.$", past.text_of("write"))
    if not written or not past.open("patch", "patch_user_file"):
        return None
    args = {"file_id": written[1], "search": words.DOCUMENT, "replace": words.CHANGED}
    args["description"] = words.CHANGE
    return TourTurn(text=words.PATCH, step="patch", tool="patch_user_file", args=args)


def _tick_off(past: Past) -> TourTurn | None:
    if not past.done("plan") or not past.open("tick_off", "write_todos"):
        return None
    done = (past.done("note"), past.done("read"), past.done("ask"), past.done("patch"))
    args = todos(words.TODOS, ("completed" if step else "pending" for step in done))
    return TourTurn(text=words.TICK_OFF, step="tick_off", tool="write_todos", args=args)


_STEPS: tuple[Callable[[Past], TourTurn | None], ...] = (
    _plan,
    _note,
    _list,
    _read,
    _claim,
    _quote,
    _ask,
    _premise,
    _review,
    _write,
    _patch,
    _tick_off,
)


def _summary(past: Past) -> TourTurn:
    lines = (f"- {_seen(past, step, what)}" for step, what in words.SEEN.items())
    return TourTurn(text=words.SUMMARY.format(seen="\n".join(lines)))


def _seen(past: Past, step: str, what: str) -> str:
    if past.done(step):
        return what
    return (words.FAILED if step in past.called else words.MISSING).format(what=what)


# ── reading results ──


def _document(past: Past) -> str:
    """Return the id of the first document listed."""
    first = past.text_of("list").partition("\n")[0]
    name, _, about = first.partition(": ")
    return name if about.endswith(" characters)") and " (" in about else ""


def _quotable(past: Past) -> str:
    """Return a line of the document that is long enough to quote."""
    lines = past.text_of("read").splitlines()[1:]
    long = (line.strip() for line in lines if len(line.strip()) >= _MIN_QUOTE)
    return next((line[:_MAX_CLAIM] for line in long), "")


def _node(past: Past, step: str) -> str:
    """Return the id of the node that a step added to the map."""
    return past.text_of(step).partition(" ")[0]


def _link(past: Past, name: str) -> dict[str, str]:
    claim = _node(past, "claim")
    return {name: claim} if claim else {}


def _shortened(text: str) -> str:
    """Return the user's words unchanged but truncated."""
    return text.strip()[:_MAX_CLAIM].strip()
