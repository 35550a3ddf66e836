"""Holding back streamed text that may be a tool call, until it is known what became of it.

A client that saw `{"name": "write_file", …` grow would take it for the answer. A reader of a run's
stream feeds the chunks of marked model calls to a `HeldText`, and shows what it returns; when the
finished message is known, `settle` returns what is left to show.
"""

from dataclasses import dataclass, field

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from bathysphere.models.constrained_calls import Words
from bathysphere.models.text_calls import MAX_PROSE

MARK = "bathysphere_holds_calls"
"""In the metadata of a model call whose text may become calls."""

STEP = "step"
"""The mark of a call whose text is a step in JSON, of which only the words are shown."""

_TAGS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>")
_LANGUAGE = 12
"""Characters that the name of a fence's language may have."""


def marked(model: BaseChatModel, *, is_step: bool = False) -> BaseChatModel:
    """A copy of a model whose streamed text may be held back, or is a step in JSON."""
    mark = {MARK: STEP if is_step else True}
    return model.model_copy(update={"metadata": {**(model.metadata or {}), **mark}})


@dataclass(slots=True)
class _Stream:
    """A message that is being written."""

    text: str = ""
    has_shown: bool = False
    is_free: bool = False
    held: list[AIMessageChunk] = field(default_factory=list)
    words: Words = field(default_factory=Words)


class HeldText:
    """Holds back the messages of one stream of events, by id."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def feed(self, chunk: AIMessageChunk, mark: object = True) -> list[AIMessageChunk]:
        """Take a chunk; returns those that can be shown now.

        Args:
            chunk: The next piece of a message.
            mark: The mark of the model call that wrote it.
        """
        stream = self._streams.setdefault(chunk.id or "", _Stream())
        if stream.is_free:
            return [chunk]
        stream.held.append(chunk)
        text = chunk.content if isinstance(chunk.content, str) else ""
        stream.text += text
        if mark == STEP and not chunk.tool_call_chunks and stream.text.lstrip()[:1] in ("", "{"):
            return _feed_words(stream, text)
        is_plain = isinstance(chunk.content, str) and not chunk.tool_call_chunks
        stream.is_free = not is_plain or (
            len(stream.text) > MAX_PROSE + _LANGUAGE and not may_be_call(stream.text)
        )
        if not stream.is_free and may_be_call(stream.text):
            return []
        shown, stream.held = stream.held, []
        stream.has_shown = stream.has_shown or bool(stream.text)
        return shown

    def settle(self, message: AIMessage) -> list[AIMessage]:
        """Take the finished message; returns the chunks that were held, or the message itself."""
        stream = self._streams.pop(message.id or "", None)
        if stream is None or not stream.held:
            return []
        if message.text == stream.text and not message.tool_calls:
            return [*stream.held]
        if not stream.has_shown:
            return [message]
        # Its end closes the message for clients; the finished one follows under the same id.
        ends = (chunk for chunk in stream.held if not chunk.content)
        return [*ends, message]


def _feed_words(stream: _Stream, text: str) -> list[AIMessageChunk]:
    """The chunks of a step with its words in place of the JSON; none while it has no words."""
    words = stream.words.feed(text)
    if not stream.words.is_open:
        return []
    *before, last = stream.held
    stream.held, stream.has_shown = [], True
    blank = [chunk.model_copy(update={"content": ""}) for chunk in before]
    return [*blank, last.model_copy(update={"content": words})]


def may_be_call(text: str) -> bool:
    """Whether a text that is still being written may be, or begin, a call."""
    head = text[: MAX_PROSE + _LANGUAGE].lstrip()
    if head.startswith(">>>") or any(tag in head for tag in _TAGS):
        return True
    fence = head.find("```")
    if fence >= 0 and _opens_json(head[fence + 3 :]):
        return True
    brace = head.find("{") if fence < 0 else -1
    if brace >= 0 and head[brace + 1 :].lstrip()[:1] in ("", '"'):
        return True
    return len(text) <= MAX_PROSE and _ends_in_opening(head)


def _opens_json(body: str) -> bool:
    """Whether a fence's text may be JSON."""
    language, newline, rest = body.partition("\n")
    if not newline:
        return len(language) <= _LANGUAGE and language.strip() in ("", "json"[: len(language)])
    return rest.lstrip()[:1] in ("", "{", "[", "<") and len(language) <= _LANGUAGE


def _ends_in_opening(text: str) -> bool:
    openings = ("```", ">>>", "[{", *_TAGS)
    return any(
        text.endswith(opening[:length]) for opening in openings for length in range(1, len(opening))
    )
