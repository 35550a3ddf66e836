"""The mark on an answer that says which of its links are known.

An answer that was written after something untrusted was read has `flow.known_links` in its
`response_metadata`. A client must not open any other link of it without asking, nor fetch pictures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from bathysphere.flow import Ledger, ledger
from bathysphere.flow.answers import known_links
from bathysphere.flow.ledger import Entries
from bathysphere.flow.provenance import Source
from bathysphere.middleware.flow.defaults import OWN_TOOLS
from bathysphere.middleware.flow.results import sources

MARK = "flow"


def with_known_links(
    response: ModelResponse[Any], messages: Sequence[AnyMessage], entries: Entries
) -> tuple[ModelResponse[Any], Entries]:
    """Mark an answer; also what a subagent's answer adds to the ledger."""
    known = Ledger(entries)
    if not known.has("untrusted"):
        return response, {}
    read = _read(messages)
    marked, quoted = [], Entries()
    for message in response.result:
        if isinstance(message, AIMessage) and not message.tool_calls and message.text:
            found = known_links(message.text, known, read)
            quoted = ledger.quoted(found) if found else quoted
            message = _marked(message, {"known_links": found})
        marked.append(message)
    return replace(response, result=marked), quoted


def _read(messages: Sequence[AnyMessage]) -> list[Source]:
    """What tools returned; files and subagents return what a model wrote."""
    results = [m for m in messages if isinstance(m, ToolMessage)]
    failed = {m.tool_call_id for m in results if m.status == "error"}
    return [s for s in sources(messages) if s.tool not in OWN_TOOLS and s.call not in failed]


def _marked(message: AIMessage, mark: Mapping[str, Any]) -> AIMessage:
    metadata = {**message.response_metadata, MARK: dict(mark)}
    return message.model_copy(update={"response_metadata": metadata})
