"""The reasons of a question as sentences for a person who has never heard of flow control.

The browser app writes the same sentences; `tests/unit/flow/sentences.json` has examples of all.
"""

import json
from collections.abc import Mapping
from typing import Any

from bathysphere.core.invisible import reveal
from bathysphere.flow.kinds import ID_PREFIX

Reason = Mapping[str, Any]
"""A reason as data, as `provenance.explain` returns it."""

MAX_VALUE = 80
MAX_ABOUT = 80

WITHOUT_VALUE = {
    "unplanned": "Your request did not clearly call for this, and the agent has read text from "
    "others since.",
    "used_up": "You asked for this once, and it is already done.",
    "secret": "The agent read something private that your request did not call for, and this "
    "would send something out.",
}
SENT = "this would be sent out after the agent read something private."
NOUNS = {
    "who": "this recipient",
    "where": "this address",
    "what": "this name",
    "amount": "this amount",
    "secret": "this secret",
    "text": "this address in the text",
    "inside": "this address in the name",
}
PLACES = {
    "": "the attachment {about}",
    "fetch_page": "the web page {about}",
    "web_search": "a web search for {about}",
    "read_file": "the file {about}",
    "task": "the report of a subagent",
}


def sentence(reason: Reason) -> str:
    """A reason as one sentence; the value in it is shortened."""
    value = shown(reason["value"])
    text = explanation(reason)
    return text if reason["why"] in WITHOUT_VALUE else f"{shortened(value)} — {text}"


def explanation(reason: Reason) -> str:
    """The sentence without the value."""
    if reason["why"] in WITHOUT_VALUE:
        return WITHOUT_VALUE[reason["why"]]
    if reason["why"] == "query":
        return SENT
    noun, source = _noun(reason), reason["source"]
    if source and reason["said"]:
        return f"{noun} came from {place(source)}. You mentioned it, but not for this."
    if source:
        return f"{noun} came from {place(source)}; you did not mention it."
    if reason["said"]:
        return f"you mentioned {noun}, but not for this."
    return f"{noun} is in nothing that the agent read, and you did not mention it."


def place(source: Mapping[str, Any]) -> str:
    """Where a value was read, such as `the web page https://x.example, line 3`."""
    return f"{source_name(source)}{_line(source.get('line'))}"


def source_name(source: Mapping[str, Any]) -> str:
    """A source in words."""
    about, tool = shortened(reveal(str(source["about"])), MAX_ABOUT), reveal(str(source["tool"]))
    document = source.get("document")
    if document:
        return f"your document {shortened(reveal(str(document['title'])), MAX_ABOUT)}"
    if tool in PLACES:
        return PLACES[tool].format(about=about)
    words = tool.replace("_", " ").replace("-", " ")
    return f"the result of “{words}”" + (f" ({about})" if about else "")


def shown(value: Any) -> str:
    """A value as text, with invisible characters revealed."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return reveal(text)


def shortened(text: str, most: int = MAX_VALUE) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= most else f"{text[:most]}…"


def _noun(reason: Reason) -> str:
    kind = str(reason["kind"])
    if kind.startswith(ID_PREFIX):
        return f"this {kind.removeprefix(ID_PREFIX)}"
    return NOUNS.get(kind) or f"this value for “{reveal(str(reason['arg']))}”"


def _line(number: Any) -> str:
    return f", line {number}" if isinstance(number, int) else ""
