"""Tool calls that a model wrote into its text, in the formats of local models.

Recognized are a JSON object alone or in Markdown fences, and the tags of Hermes and Qwen
(`<tool_call>`), Mistral (`[TOOL_CALLS]`), Llama (`<|python_tag|>`, `<function=…>`) and Functionary
(`>>>name`). JSON counts only if it is the whole message or has little prose around it: quoted JSON
in an ordinary answer is not a call. Parsing takes linear time.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bathysphere.models.json_text import decode, without_thoughts

MAX_PROSE = 300
"""Characters of prose around a call that is still meant as one."""
MAX_CALLS = 20

_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input", "action_input")
_IGNORED = frozenset(("type", "id", "call_id", "tool_call_id", "thought", "reasoning"))
_STOPS = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "</s>")


class TextCall(NamedTuple):
    """A call as a model wrote it."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """The calls in a text."""

    calls: tuple[TextCall, ...]
    is_alone: bool = True
    """Whether there is little else in the text; if not, the calls may be quoted."""


def read_calls(text: str, names: Collection[str]) -> Reading | None:
    """Read the calls in the text of an answer; None if it is an ordinary answer.

    Args:
        text: The text.
        names: The tools that the model has. A call of another is read only if its form is clear.
    """
    text = without_thoughts(text).strip()
    for mark in _STOPS:
        text = text.removesuffix(mark).rstrip()
    for read in (_tagged, _listed, _python_tag, _recipient, _fenced, _bare):
        found = read(text, names)
        if found is not None:
            return found if found.calls else None
    return None


# ── formats; each returns None if the text is not in it ──


def _tagged(text: str, names: Collection[str]) -> Reading | None:
    """Read `<tool_call>…</tool_call>` and `<function=name>…</function>`, outside fences."""
    for tag, end in (("<tool_call>", "</tool_call>"), ("<function=", "</function>")):
        first = text.find(tag)
        if first < 0 or "```" in text[:first]:
            continue
        calls, prose = list[TextCall](), len(text[:first].strip())
        for part in text[first:].split(tag)[1 : MAX_CALLS + 1]:
            body, _, after = part.partition(end)
            found = _function(body) if tag == "<function=" else _tag_body(body, names)
            if found is None:
                return None
            calls += found
            prose += len(after.strip())
        return Reading(tuple(calls), prose <= MAX_PROSE)
    return None


def _tag_body(body: str, names: Collection[str]) -> list[TextCall] | None:
    body = body.strip()
    if body.startswith("<function="):
        return _function(body.removeprefix("<function=").partition("</function>")[0])
    calls = _calls_of(decode(body)[0], names)
    return list(calls) if calls else None


def _function(body: str) -> list[TextCall] | None:
    """Read `name>{…}`, or `name>` and `<parameter=…>` tags."""
    name, has_name, rest = body.partition(">")
    if not has_name or not _is_name(name.strip()):
        return None
    value, _ = decode(rest.strip())
    if isinstance(value, dict):
        return [TextCall(name.strip(), value)]
    args = {}
    for part in rest.split("<parameter=")[1:]:
        key, _, words = part.partition(">")
        args[key.strip()] = _plain(words.partition("</parameter>")[0].strip("\n"))
    return [TextCall(name.strip(), args)]


def _listed(text: str, names: Collection[str]) -> Reading | None:
    """Read `[TOOL_CALLS] [{…}]` and `[TOOL_CALLS]name[ARGS]{…}`."""
    before, mark, after = text.partition("[TOOL_CALLS]")
    if not mark or "```" in before:
        return None
    is_alone = len(before.strip()) <= MAX_PROSE
    if "[ARGS]" in after:
        pairs = (part.partition("[ARGS]") for part in after.split("[TOOL_CALLS]")[:MAX_CALLS])
        named = [(name.strip(), decode(body.strip())[0]) for name, _, body in pairs]
        return Reading(
            tuple(TextCall(n, a) for n, a in named if _is_name(n) and isinstance(a, dict)), is_alone
        )
    after = after.strip()
    value, end = decode(after)
    calls = _calls_of(value, names)
    return Reading(calls, is_alone and len(after[end:].strip()) <= MAX_PROSE) if calls else None


def _python_tag(text: str, names: Collection[str]) -> Reading | None:
    """Read `<|python_tag|>{…}; {…}`."""
    before, mark, after = text.partition("<|python_tag|>")
    if not mark or "```" in before:
        return None
    calls, rest = _objects(after, names)
    is_alone = len(before.strip()) + len(rest) <= MAX_PROSE
    return Reading(calls, is_alone) if calls else None


def _recipient(text: str, names: Collection[str]) -> Reading | None:
    """Read `>>>name` and a JSON object on the next line."""
    if not text.startswith(">>>"):
        return None
    name, _, body = text[3:].partition("\n")
    value, end = decode(body.strip())
    is_call = name.strip() in names and isinstance(value, dict) and not body.strip()[end:].strip()
    return Reading((TextCall(name.strip(), value),)) if is_call else None


def _fenced(text: str, names: Collection[str]) -> Reading | None:
    """Read fences that hold calls and nothing else, with little prose around them."""
    if "```" not in text.partition("{")[0]:
        return None
    calls, prose, rest = list[TextCall](), 0, text
    while "```" in rest and len(calls) <= MAX_CALLS:
        before, _, body = rest.partition("```")
        found, rest = _objects(_without_language(body), names)
        if not found or (rest and not rest.startswith("```")):
            return Reading(())
        calls += found
        prose += len(before.strip())
        rest = rest.removeprefix("```")
    return Reading(tuple(calls) if prose + len(rest.strip()) <= MAX_PROSE else ())


def _bare(text: str, names: Collection[str]) -> Reading | None:
    """Read a JSON value that is the whole text, or starts on a line of its own in little prose."""
    start = 0 if text[:1] in ("{", "[") else text.find("\n{") + 1
    if not start and text[:1] not in ("{", "["):
        start = text.find("{") if len(text) <= MAX_PROSE * 4 else -1
    if start < 0:
        return None
    calls, rest = _objects(text[start:], names)
    return Reading(calls) if calls and start + len(rest) <= MAX_PROSE else None


# ── JSON ──


def _objects(text: str, names: Collection[str]) -> tuple[tuple[TextCall, ...], str]:
    """The calls that a text starts with, and the text after them."""
    calls, text = list[TextCall](), text.strip()
    while text and len(calls) < MAX_CALLS:
        value, end = decode(text)
        found = _calls_of(value, names)
        if not found:
            break
        calls += found
        text = text[end:].lstrip(" \t\r\n;,")
    return tuple(calls), text


def _calls_of(value: Any, names: Collection[str]) -> tuple[TextCall, ...]:
    """The calls in a JSON value; none if any part of it is something else."""
    if isinstance(value, Mapping) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    values = value if isinstance(value, list) else [value]
    calls = [call for each in values[:MAX_CALLS] for call in _call_of(each, names)]
    return tuple(calls) if len(calls) == len(values) else ()


def _call_of(value: Any, names: Collection[str]) -> Iterator[TextCall]:
    if not isinstance(value, dict):
        return
    if isinstance(value.get("function"), dict):
        value = value["function"]
    key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if key is None:
        yield from _keyed(value, names)
        return
    name, given = value[key].strip(), [part for part in _ARGUMENTS if part in value]
    rest = {k: v for k, v in value.items() if k not in (key, *given) and k not in _IGNORED}
    if len(given) == 1 and not rest:
        args = _arguments(value[given[0]])
        if args is not None and (name in names or _is_name(name)):
            yield TextCall(name, args)
    elif name in names and not given:
        yield TextCall(name, rest)  # arguments beside the name


def _keyed(value: Mapping[str, Any], names: Collection[str]) -> Iterator[TextCall]:
    """Read `{"tool": {…}}`."""
    for name, args in value.items() if len(value) == 1 else ():
        if name in names and isinstance(args, dict):
            yield TextCall(name, args)


def _arguments(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        value = decode(value.strip())[0] if value.strip() else {}
    return {} if value is None else value if isinstance(value, dict) else None


def _plain(text: str) -> Any:
    """A value of a `<parameter=…>` tag: JSON if it is a number, list, object or constant."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _is_name(text: str) -> bool:
    return 0 < len(text) <= 64 and text.replace("-", "_").replace(".", "_").isidentifier()


def _without_language(block: str) -> str:
    """The text after a fence's opening, without the language."""
    first, newline, rest = block.partition("\n")
    return rest if newline and first.strip().replace("_", "").isalpha() else block


def unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if a JSON answer has the form of a call; else the answer itself."""
    calls = _calls_of(value, ())
    return calls[0].args if len(calls) == 1 else value
