"""An agent whose tools run on the person's device: real layers, a scripted model."""

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.testing import ScriptedChatModel, Turn, calls, says, together


@tool
def send(to: str) -> str:
    """Send the draft to somebody."""
    return f"sent to {to}"


def _list(call: str) -> Turn:
    return calls("list_user_files", {}, id=call)


def _read(call: str, file: str = "draft") -> Turn:
    return calls("read_user_file", {"file_id": file}, id=call)


def _patch(call: str, search: str, replace: str) -> Turn:
    args = {"file_id": "draft", "search": search, "replace": replace, "description": "clearer"}
    return calls("patch_user_file", args, id=call)


def _task(call: str, agent: str, words: str) -> Turn:
    return calls("task", {"description": words, "subagent_type": agent}, id=call)


_CHOICES = {
    "question": "Which part?",
    "options": [{"id": "a", "label": "The start"}, {"id": "b", "label": "The end"}],
}
_WRITE = {"title": "notes", "content": "A note.", "description": "to remember"}
# What is said to an agent, and what it does then, step by step.
SCRIPTS: dict[str, tuple[Turn, ...]] = {
    "two": (together(_list("c1"), _read("c2")),),
    "five": (together(*(_read(f"c{n}", f"f{n}") for n in range(5))),),
    "throws": (together(_read("c1", "missing"), _list("c2")),),
    "unknown": (together(calls("glob_user_files", {"pattern": "*"}, id="c1"), _list("c2")),),
    "one below": (_task("t1", "left", "read it"),),
    "read it": (_read("s1"),),
    "all over": (
        together(_list("m1"), _task("t1", "left", "read both"), _task("t2", "right", "list it")),
    ),
    "read both": (together(_read("s1", "f1"), _read("s2", "f2")),),
    "list it": (_list("s3"),),
    "in a row": (
        together(_list("c1"), _read("c2")),
        calls("ask_choices", _CHOICES, id="c3"),
        _task("t1", "right", "read it"),
    ),
    "everything": (
        together(
            _read("c1"),
            calls("ask_user", {"question": "Whom for?"}, id="c2"),
            calls("send", {"to": "Ann"}, id="c3"),
            _task("t1", "left", "ask and read"),
        ),
    ),
    "ask and read": (
        together(calls("ask_user", {"question": "How long?"}, id="s1"), _read("s2", "f1")),
    ),
    "documents": (
        together(_list("c1"), calls("glob_user_files", {"pattern": "dr*"}, id="c2")),
        together(
            _read("c3"),
            calls("search_user_files", {"query": "old words"}, id="c4"),
            calls("grep_user_files", {"pattern": "words"}, id="c5"),
        ),
        together(_patch("c6", "old", "new"), calls("write_user_file", _WRITE, id="c7")),
    ),
    "conflict": (_read("c1"), _patch("c2", "old", "new"), _patch("c3", "old", "new")),
}


def _next(messages: list[AnyMessage]) -> Turn:
    last = max(n for n, m in enumerate(messages) if m.type == "human")
    since = messages[last:]
    steps = SCRIPTS.get(messages[last].text, ())
    done = sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in since)
    if done < len(steps):
        return steps[done]
    results = sorted(f"{m.tool_call_id}={m.text}" for m in since if m.type == "tool")
    return says(" | ".join(results) or f"heard {messages[last].text}")


def tether() -> Any:
    """An agent with two subagents; all of them work on the person's device, ask and send."""

    def layers() -> tuple[Any, ...]:
        return (ClarifyMiddleware(), ClientFilesMiddleware())

    spec = AgentSpec(
        name="tether",
        model=ScriptedChatModel(answer=_next),
        tools=(send,),
        approvals={"send": True},
        middleware=layers(),
        subagents=tuple(
            SubagentSpec(name=name, description=name, middleware=layers())
            for name in ("left", "right")
        ),
    )
    return build(spec)
