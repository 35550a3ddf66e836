"""A person and their device: valid answers to any question, and invalid ones."""

import random
from dataclasses import dataclass
from itertools import count
from typing import Any

Question = dict[str, Any]
_numbers = count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer to send, and its expected effect."""

    question: str
    call: str
    value: Any
    token: str
    """What the model must be shown with the call's result."""
    runs_body: bool = False


def call_of(question: Question) -> str:
    value = question["value"]
    return str(value["tool_call"]["id"] if value["type"] == "tool" else value["tool_call_id"])


def good(question: Question, dice: random.Random) -> Answer:
    """A valid answer with a unique token."""
    call, value = call_of(question), question["value"]
    token = f"tok<{call}#{next(_numbers)}>"
    if value["type"] == "tool":
        result = {"error": token} if dice.random() < 0.15 else _result(value["tool_call"], token)
        return Answer(question=question["id"], call=call, value={call: result}, token=token)
    if value["type"] == "tool_approval":
        return _decision(question, call, token, dice)
    if value["tool"] in ("act", "pay"):  # its outcome was not recorded
        ended = {"selected": ["happened"], "freeform": token}
        return Answer(question=question["id"], call=call, value=ended, token=token)
    if value["tool"] == "ask_user":
        said = {"response": token}
        return Answer(question=question["id"], call=call, value=said, token=token)
    return _choice(question, call, token, dice)


def _result(call: dict[str, Any], token: str) -> dict[str, Any]:
    text = {"file_id": "f", "version": "1", "start": 0, "total": 1000, "text": token}
    match = {"file_id": "f", "version": "1", "line": 1, "start": 0, "text": token}
    files = {"files": [{"id": "f", "title": token, "version": "1"}]}
    results: dict[str, dict[str, Any]] = {
        "list_user_files": files,
        "glob_user_files": files,
        "read_user_file": text,
        "search_user_files": {"hits": [text]},
        "grep_user_files": {"matches": [match]},
        "write_user_file": {"status": "partly", "file_id": "f", "version": "2", "text": token},
    }
    return results[call["name"]]


def _decision(question: Question, call: str, token: str, dice: random.Random) -> Answer:
    value = question["value"]
    kind = dice.choice(("approve", "approve", "edit", "reject", "respond"))
    decision: dict[str, Any] = {"type": kind}
    if kind == "approve":
        token = value["args"]["what"]
    elif kind == "edit":
        decision["edited_action"] = {"name": value["name"], "args": {"what": token}}
    else:
        decision["message"] = token
    runs = kind in ("approve", "edit")
    return Answer(question=question["id"], call=call, value=decision, token=token, runs_body=runs)


def _choice(question: Question, call: str, token: str, dice: random.Random) -> Answer:
    value = question["value"]
    if value["allow_freeform"] and dice.random() < 0.5:
        said = {"selected": [], "freeform": token}
        return Answer(question=question["id"], call=call, value=said, token=token)
    option = dice.choice(value["options"])
    chosen = {"selected": [option["id"]]}
    return Answer(question=question["id"], call=call, value=chosen, token=option["label"])


def bad(question: Question, dice: random.Random) -> Any:
    """An answer that is invalid in one of many ways."""
    call, value = call_of(question), question["value"]
    common: list[Any] = [None, {}, [], 7, "yes", {"0": 1}]
    if value["type"] == "tool":
        name = value["tool_call"]["name"]
        good_one = _result(value["tool_call"], "never")
        common += [
            {"another_call": good_one},
            good_one,
            {call: "a text"},
            {call: {"error": ""}},
            {call: {"error": "e", "more": 1}},
            {call: dict.fromkeys(good_one, 5)},
        ]
        if name == "write_user_file":
            common += [{call: {"status": "partly", "file_id": "f", "version": "1"}}]
            common += [{call: {"status": "applied"}}, {call: {"status": "maybe"}}]
    elif value["type"] == "tool_approval":
        other = {"name": "other", "args": {"what": "never"}}
        common += [
            {"type": "perhaps"},
            {"type": "edit"},
            {"type": "edit", "edited_action": other},
            {"type": "respond"},
            {"decisions": [{"type": "approve"}]},
        ]
    elif value["tool"] == "ask_user":
        common += [{"response": text} for text in ("", "   ", 3)]
        common += [{"response": "x", "more": 1}]
    else:
        common += [
            {"selected": ["none of these"]},
            {"selected": []},
            {"selected": ["a", "a"]},
            {"selected": "a"},
            {"selected": ["a", "b", "c", "d"]},
        ]
    return dice.choice(common)
