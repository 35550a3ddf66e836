"""Checks of the state that a case ended in; what the agent said is never looked at."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bathysphere.argument.ladder import Played, may_tell
from bathysphere.argument.map import merge
from bathysphere.evaluation.cases import Case, Checks, FileCheck, MapCheck, ReportCheck
from bathysphere.evaluation.play import CaseResult

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_MARK = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_MISSING = object()


def failed_checks(case: Case, result: CaseResult) -> list[str]:
    """What does not hold, in words; empty if the case passed."""
    found = [result.problem] if result.problem else []
    if result.usage.stopped:
        found.append(f"It was stopped by the limit of {result.usage.stopped['limit']}.")
    found += _files(case, result)
    found += _plan(case.check, result)
    found += _calls(case.check, result)
    found += _effects(case.check, result)
    if case.check.report is not None:
        found += _report(case.check.report, result.state)
    if case.check.argument is not None:
        found += _argument(case.check.argument, result)
    return found


# ── files and the plan ──


def _files(case: Case, result: CaseResult) -> Iterator[str]:
    files = result.files
    for path, check in case.check.files.items():
        yield from _file(path, files.get(path), check)
    before = {**case.files, **case.documents}
    now = {**files, **result.documents}
    for path in case.check.unchanged:
        if now.get(path) != before[path]:
            yield f"{path} was changed."


def _file(path: str, text: str | None, check: FileCheck) -> Iterator[str]:
    if check.absent or text is None:
        if (text is None) != check.absent:
            yield f"{path} {'still exists' if check.absent else 'does not exist'}."
        return
    if check.equals is not None and text.strip() != check.equals:
        yield f"{path} has another text."
    yield from (f"{path} lacks {words!r}." for words in check.has if words not in text)
    yield from (f"{path} has {words!r}." for words in check.lacks if words in text)
    if check.lines and Counter(_lines(text)) != Counter(check.lines):
        yield f"{path} has other lines."
    if check.number is not None and set(_numbers(text)) != {check.number}:
        yield f"{path} does not have the number {check.number:g} alone."
    if check.json_value is not None and _json(text) != check.json_value:
        yield f"{path} has another JSON value."


def _lines(text: str) -> list[str]:
    stripped = (_MARK.sub("", line.strip()) for line in text.splitlines())
    return [line for line in stripped if line]


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _MISSING


def _plan(check: Checks, result: CaseResult) -> Iterator[str]:
    if check.todos is None:
        return
    todos = result.state.get("todos") or []
    if len(todos) < check.todos.least:
        yield f"The plan has {len(todos)} steps, not {check.todos.least}."
    if check.todos.done and any(todo["status"] != "completed" for todo in todos):
        yield "Not all steps of the plan are completed."


# ── calls ──


def _calls(check: Checks, result: CaseResult) -> Iterator[str]:
    made = Counter(call.tool for call in result.calls)
    for tool, least in check.called.items():
        if made[tool] < least:
            yield f"{tool} ran {made[tool]} times, not {least}."
    yield from (f"{tool} ran." for tool in check.never if made[tool])
    asked = {one.tool for one in result.asked}
    for tools in check.asked:
        if asked.isdisjoint(tools.split("|")):
            yield f"The person was not asked about {tools}."
    if check.unasked and asked:
        yield f"The person was asked about {', '.join(sorted(asked))}."


def _effects(check: Checks, result: CaseResult) -> Iterator[str]:
    for tool, wanted in check.effects.items():
        ran = [args for name, args in result.effects if name == tool]
        left = list(ran)
        for one in wanted:
            fitting = next((args for args in left if _contains(args, one)), None)
            if fitting is None:
                yield f"{tool} did not run with {one}."
            else:
                left.remove(fitting)
        yield from (f"{tool} ran with {dict(args)}, unwanted." for args in left)


def _contains(args: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(args.get(name) == value for name, value in wanted.items())


# ── research ──


def _report(check: ReportCheck, state: Mapping[str, Any]) -> Iterator[str]:
    if state.get("status") != "complete":
        yield f"The research ended as {state.get('status')}: {state.get('error_message')}"
        return
    report = state.get("report") or {}
    quotes = {quote["id"]: quote["text"] for quote in report.get("quotes") or ()}
    claims = [
        claim
        for section in report.get("sections") or ()
        for claim in section["claims"]
        if claim["status"] != "unsupported"
    ]
    quoted = [quotes[one] for claim in claims for one in claim["quotes"]]
    for words in check.quoted:
        if not any(words in quote for quote in quoted):
            yield f"No supported claim quotes {words!r}."
    for words in check.absent:
        if any(words in claim["text"] for claim in claims):
            yield f"A supported claim says {words!r}."


# ── the tutor ──


def _argument(check: MapCheck, result: CaseResult) -> Iterator[str]:
    known = merge(result.state.get("argument_map"), None)
    nodes = list(known["nodes"].values())
    if len(nodes) < check.nodes:
        yield f"The map has {len(nodes)} nodes, not {check.nodes}."
    sources = [node["source"] for node in nodes if "file" in node["source"]]
    if len(sources) < check.quotes:
        yield f"The map has {len(sources)} quotes, not {check.quotes}."
    for source in sources:
        if not _stands(source, result.documents):
            yield f"A quote does not stand in {source.get('file')}."
    yield from _moves(result.state.get("moves") or ())


def _stands(source: Any, documents: Mapping[str, str]) -> bool:
    text = documents.get(source["file"], "")
    return bool(source["quote"]) and text[source["start"] : source["end"]] == source["quote"]


def _moves(played: Sequence[Played]) -> Iterator[str]:
    if not played:
        yield "The tutor made no move."
    for number, move in enumerate(played):
        allowed = may_tell(played[:number], stuck=move["stuck"], asked=move["asked_to_tell"])
        if move["move"] == "tell" and not allowed:
            yield "The tutor told the answer before it was asked to."
        if "message" not in move:
            yield "A turn of the tutor has no message."
