"""What the result of a call adds to the ledger, and how it gets there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from bathysphere.flow import FlowPolicy, Ledger, Step, ToolFlow, consent, ledger, merge
from bathysphere.flow.addresses import links
from bathysphere.flow.ledger import Entries, additions
from bathysphere.flow.plan import LINK
from bathysphere.flow.provenance import Source
from bathysphere.flow.records import data_of, find, made, names
from bathysphere.flow.values import is_empty
from bathysphere.models.answers import ANSWER
from bathysphere.upstream import updates_of

ToolResult = ToolMessage | Command[Any]

TASK, ASK_USER = "task", "ask_user"
MAX_TRUSTED = 50_000
"""Characters of a source that a person can trust: they are kept in the ledger."""


def learned(
    result: ToolResult,
    call: Mapping[str, Any],
    entries: Entries,
    policy: FlowPolicy,
    *,
    run: str,
) -> Entries:
    """What is known from the result of a call that ran."""
    tool, arguments = policy.of(call["name"]), call["args"]
    plan = Ledger(entries).steps(run)
    steps = [step for step in plan if step.matches(call["name"], arguments)]
    added = _marks(tool, is_planned=bool(steps))
    message = message_of(result, call)
    if message is None or message.status == "error":
        return added
    text = message.text
    if (typed := typed_answer(message, call)) is not None:
        added = merge(added, ledger.said(str(call["id"]), typed))
    data = data_of(message.artifact, text)
    for entry in _found(tool, steps, arguments, data, run):
        added = merge(added, entry)
    for kind, value in made(tool, data):
        added = merge(added, ledger.made(run, kind, value))
    if tool.reads == "catalogue":
        added = merge(added, ledger.named(names(data, text)))
    read = {s.id for s in steps} & _referred_to(plan)
    for step in sorted(read):
        added = merge(added, ledger.linked(run, step, links(text)))
    return added


def typed_answer(message: ToolMessage, call: Mapping[str, Any]) -> str | None:
    """What the person typed in answer to a question; the options of a choice are the model's."""
    answer = message.additional_kwargs.get(ANSWER) if call["name"] == ASK_USER else None
    return answer if isinstance(answer, str) else None


def read_before(messages: Sequence[AnyMessage], policy: FlowPolicy) -> Entries:
    """The marks of what a thread read before it had a ledger; a summary may contain anything."""
    added: Entries = {}
    calls = {c["id"]: c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    for message in messages:
        if isinstance(message, ToolMessage):
            name = (calls.get(message.tool_call_id) or {"name": message.name or ""})["name"]
            added = merge(added, _marks(policy.of(name), is_planned=False))
        elif "lc_source" in message.additional_kwargs:
            added = merge(added, ledger.marked("untrusted"))
    return added


def _marks(tool: ToolFlow, *, is_planned: bool) -> Entries:
    marks = ledger.marked("untrusted") if tool.reads == "untrusted" else {}
    if tool.secret:
        marks = merge(marks, ledger.marked("secret"))
    if tool.secret and not is_planned:
        marks = merge(marks, ledger.marked("secret_unplanned"))
    return marks


def _found(
    tool: ToolFlow, steps: Sequence[Step], arguments: Mapping[str, Any], data: Any, run: str
) -> list[Entries]:
    """The records of look-up steps; the person's words must say what is looked for."""
    if tool.finds is None:
        return []
    given = {key for key in tool.finds.keys if not is_empty(arguments.get(key))}
    fields = find(tool.finds, arguments, data)
    if fields is None:
        return []
    return [
        ledger.found(run, step.id, fields)
        for step in steps
        if given <= step.arguments.keys() - step.references.keys()
    ]


def _referred_to(plan: Sequence[Step]) -> set[str]:
    """The steps whose links another step may follow."""
    references = (step.reference(name) for step in plan for name in step.references)
    return {found[0] for found in references if found and found[1] == LINK}


def message_of(result: ToolResult, call: Mapping[str, Any]) -> ToolMessage | None:
    """The message in a result that answers a call."""
    if isinstance(result, ToolMessage):
        return result
    for name, value in updates_of(result):
        for message in value if name == "messages" and isinstance(value, list) else ():
            if isinstance(message, ToolMessage) and message.tool_call_id == call["id"]:
                return message
    return None


def with_additions(result: ToolResult, added: Entries, entries: Entries) -> ToolResult:
    """The result, which also writes what is new to the ledger.

    A subagent returns its whole ledger; only what it added is written.
    """
    if isinstance(result, ToolMessage):
        new = additions(added, entries)
        return Command(update={"messages": [result], "flow": new}) if new else result
    # A tool's update may also be pairs, which outer layers do not take.
    update = dict(updates_of(result))
    returned = update.pop("flow", None)
    update.pop("flow_calls", None)  # verdicts on the subagent's own calls
    new = additions(merge(added, returned if isinstance(returned, dict) else None), entries)
    return replace(result, update={**update, "flow": new} if new else update)


def is_opaque(call: Mapping[str, Any], opaque: Collection[str]) -> bool:
    """Whether a call starts a subagent that keeps no ledger."""
    return call["name"] == TASK and str(call["args"].get("subagent_type")) in opaque


def sources(messages: Sequence[AnyMessage]) -> list[Source]:
    """The results and attachments in an agent's messages, with what each is about."""
    calls = {c["id"]: c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
    found: list[Source] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            found.append(_source(message, calls))
        elif isinstance(message, HumanMessage):
            found.extend(_attachments(message))
    return found


def _source(message: ToolMessage, calls: Mapping[str | None, Any]) -> Source:
    call = calls.get(message.tool_call_id) or {"name": message.name or "", "args": {}}
    about = ", ".join(str(value) for value in call["args"].values() if not is_empty(value))
    return Source(message.tool_call_id, call["name"], about, message.text, _identity(message, call))


def _identity(message: ToolMessage, call: Mapping[str, Any]) -> str | None:
    """What a source is: the tool and its exact arguments, never a name that a text can choose.

    A subagent's report mixes sources, so it is none.
    """
    if call["name"] == TASK or message.status == "error" or len(message.text) > MAX_TRUSTED:
        return None
    return consent.digest(call)


def _attachments(message: HumanMessage) -> list[Source]:
    blocks = [] if isinstance(message.content, str) else message.content
    return [
        Source(message.id or "", "", str(block.get("title") or ""), str(block.get("text") or ""))
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "text-plain"
    ]
