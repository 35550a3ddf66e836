"""What a frail model says in place of a turn: one function per way to fail.

An answer that is JSON, as nodes of a graph ask for, is spoiled like the arguments of a call.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from bathysphere.testing.turns import Call, Turn, calls, says

PLAN_TOOL = "write_todos"
FOREIGN = (
    "好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻，谢谢您的耐心等待。",
    "Хорошо, я понял вашу просьбу и сейчас займусь этим файлом, пожалуйста, подождите.",
    "了解しました。ご依頼のファイルを確認して、すぐに結果をお知らせします。少々お待ちください。",
)
BROKEN_OFF = ("Let me look at the files first.", "I will now do what you asked.", "Step 1:")
INVENTED = ("open_browser", "python", "search_files", "send_message")
BEFORE = ("Sure! I will call the tool:", "To do this, here is the call:", "Okay.")
AFTER = ("Let me know if that helps!", "", "I will tell you what I find.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A tool that the model may call."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One call of the model: what it should have said, and what it knows."""

    turn: Turn
    messages: Sequence[BaseMessage]
    tools: Sequence[Bound]
    draw: Random


# ── the same in a bad form ──


def fenced(now: Moment) -> Turn:
    """Write calls as Markdown, the way models answer that were trained on code."""
    if now.turn.calls:
        return says("\n".join(_fence(now, call) for call in now.turn.calls))
    return says(f"```json\n{now.turn.text}\n```") if _json(now.turn.text) else now.turn


def tagged(now: Moment) -> Turn:
    """Write calls in a format of their own that no template mapped."""
    form = now.draw.choice((_hermes, _mistral, _llama))
    if now.turn.calls:
        return says(form(now.turn.calls))
    value = _json(now.turn.text)
    return says(form((Call(name="answer", args=value),))) if value else now.turn


def prose(now: Moment) -> Turn:
    """Wrap calls in polite words."""
    before, after = now.draw.choice(BEFORE), now.draw.choice(AFTER)
    if now.turn.calls:
        return says(f"{before}\n\n{_fence(now, now.turn.calls[0])}\n\n{after}".strip())
    return says(f"{before}\n{now.turn.text}\n{after}") if _json(now.turn.text) else now.turn


# ── something else ──


def repeats(now: Moment) -> Turn:
    """Make the last call once more."""
    last = _last_calls(now.messages) or now.turn.calls or _samples(now)[:1]
    return Turn(calls=tuple(replace(call, id=None) for call in last)) if last else now.turn


def alternating(now: Moment) -> Turn:
    """Go back and forth between two calls."""
    pair = _samples(now)[:2]
    spoken = sum(isinstance(message, AIMessage) for message in now.messages)
    return Turn(calls=(pair[spoken % len(pair)],)) if pair else _cut(now)


def stuck_plan(now: Moment) -> Turn:
    """Plan again and do nothing."""
    if not any(tool.name == PLAN_TOOL for tool in now.tools):
        return repeats(now)
    words = now.draw.choice(("Look at the files", "Look into the files", "Check all files"))
    todos = [{"content": words, "status": "pending"}, {"content": "Answer", "status": "pending"}]
    return calls(PLAN_TOOL, todos=todos)


def wrong_types(now: Moment) -> Turn:
    """Pass lists as text and text as lists."""
    if value := _json(now.turn.text):
        return says(json.dumps({name: _other_type(each) for name, each in value.items()}))
    wanted = now.turn.calls or _samples(now)[:1]
    spoiled = (
        replace(call, args={name: _other_type(value) for name, value in call.args.items()})
        for call in wanted
    )
    return _native_or_fenced(now, tuple(spoiled))


def forgotten_arguments(now: Moment) -> Turn:
    """Leave out what is required."""
    if value := _json(now.turn.text):
        return says(json.dumps(dict(list(value.items())[1:])))
    wanted = now.turn.calls or _samples(now)[:1]
    spoiled = (replace(call, args=dict(list(call.args.items())[1:])) for call in wanted)
    return _native_or_fenced(now, tuple(spoiled))


def unknown_tool(now: Moment) -> Turn:
    """Call a tool that does not exist."""
    return _native_or_fenced(now, (Call(name=now.draw.choice(INVENTED), args={"input": "all"}),))


def empty(now: Moment) -> Turn:
    """Say nothing."""
    return says(now.draw.choice(("", "\n", "   ")))


def wrong_language(now: Moment) -> Turn:
    """Answer in a language that nobody used."""
    return says(now.draw.choice(FOREIGN))


def premature_end(now: Moment) -> Turn:
    """Announce what comes next and stop."""
    return _cut(now) if _json(now.turn.text) else says(now.draw.choice(BROKEN_OFF))


SPOILS: Mapping[str, Callable[[Moment], Turn]] = {
    spoil.__name__: spoil
    for spoil in (
        repeats,
        fenced,
        tagged,
        wrong_types,
        empty,
        forgotten_arguments,
        wrong_language,
        premature_end,
        prose,
        alternating,
        unknown_tool,
        stuck_plan,
    )
}
"""Way to fail → what takes the place of the turn."""


# ── parts ──


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _cut(now: Moment) -> Turn:
    return says(now.turn.text[: len(now.turn.text) // 2])


def _fence(now: Moment, call: Call) -> str:
    body = {"name": call.name, now.draw.choice(("arguments", "parameters")): call.args}
    return f"```{now.draw.choice(('json', ''))}\n{json.dumps(body, indent=2)}\n```"


def _native_or_fenced(now: Moment, wanted: tuple[Call, ...]) -> Turn:
    if now.draw.random() < 0.5:
        return Turn(calls=wanted)
    return says("\n".join(_fence(now, call) for call in wanted))


def _hermes(wanted: Sequence[Call]) -> str:
    bodies = (json.dumps({"name": call.name, "arguments": call.args}) for call in wanted)
    return "\n".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


def _mistral(wanted: Sequence[Call]) -> str:
    bodies = [{"name": call.name, "arguments": call.args} for call in wanted]
    return f"[TOOL_CALLS] {json.dumps(bodies)}"


def _llama(wanted: Sequence[Call]) -> str:
    bodies = (json.dumps({"name": call.name, "parameters": call.args}) for call in wanted)
    return "<|python_tag|>" + "; ".join(bodies)


def _last_calls(messages: Sequence[BaseMessage]) -> tuple[Call, ...]:
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            made = (Call(name=one["name"], args=dict(one["args"])) for one in message.tool_calls)
            return tuple(made)
    return ()


def _samples(now: Moment) -> list[Call]:
    """A call of each tool with made-up arguments; of the plan last, since it changes nothing."""
    ordered = sorted(now.tools, key=lambda tool: (tool.name == PLAN_TOOL, tool.name))
    return [Call(name=tool.name, args=_sample(tool.schema)) for tool in ordered]


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {name: _value(properties.get(name) or {}) for name in schema.get("required") or ()}


def _value(of: Mapping[str, Any]) -> Any:
    if of.get("enum"):
        return of["enum"][0]
    made = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return made.get(str(of.get("type")), "/")


def _other_type(value: Any) -> Any:
    if isinstance(value, str):
        return [value]
    return json.dumps(value) if isinstance(value, (list, dict)) else {"value": value}
