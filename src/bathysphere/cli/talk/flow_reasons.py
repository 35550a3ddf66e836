"""Why the agent asks about a call: each value with where it was read, and the passage."""

from collections.abc import Mapping
from typing import Any

from bathysphere.flow.sentences import sentence, source_name

Lines = list[tuple[str, str]]


def reasons_of(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The reasons in a question; none if flow control has nothing to say about it."""
    flow = value.get("flow")
    return list(flow.get("reasons", ())) if isinstance(flow, Mapping) else []


def reason_lines(reasons: list[Mapping[str, Any]]) -> Lines:
    """Format reasons: a sentence each, and the passage below it, with the value between »«."""
    lines: Lines = []
    for reason in reasons:
        lines.append((f"! {sentence(reason)}", "yellow"))
        if source := reason.get("source"):
            lines.append((f"    {_marked(source)}", "dim"))
    return lines


def sources_to_trust(reasons: list[Mapping[str, Any]]) -> dict[str, str]:
    """The sources that an approval can trust: id → in words."""
    sources = (reason.get("source") or {} for reason in reasons)
    return {str(one["id"]): source_name(one) for one in sources if one.get("id")}


def _marked(source: Mapping[str, Any]) -> str:
    excerpt, found = str(source.get("excerpt", "")), str(source.get("found", ""))
    return excerpt.replace(found, f"»{found}«", 1) if found else excerpt
