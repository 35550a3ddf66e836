"""Detection of prompt injection: passages of a source that address the model, not the reader.

The patterns are a filter, not a guarantee: they find obvious attempts, and what they find may not
be quoted. Text of a source is never treated as an instruction, whether it is detected or not.
"""

import re
from collections.abc import Iterator

from bathysphere.evidence.normal import Span

_ASKS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}
        \b(?:previous|prior|above|earlier|all|any|your|these|the)\b[^.\n]{0,40}
        \b(?:instruction|prompt|rule|direction|guideline|message|polic)
    | \b(?:system|developer)\s+(?:prompt|message|override|note)\b\s*[:=]
    | \b(?:new|updated|important|hidden)\s+(?:system\s+)?instructions?\b\s*(?:for|to|:)
    | \b(?:dear|attention|note\s+to|instructions?\s+(?:for|to)|message\s+(?:for|to))\b[^.\n]{0,20}
        \b(?:ai|llms?|language\s+models?|assistants?|agents?|chatbots?|researcher\s+bots?)\b
    | \b(?:if\s+you\s+are|as)\s+an?\s+(?:ai|llm|language\s+model|assistant|agent)\b[^.\n]{0,60}
        \b(?:must|should|shall|please|are\s+required|do|report|write|say|include|visit|send)\b
    | \byou\s+are\s+now\b[^.\n]{0,60}\b(?:mode|assistant|ai|agent|model|dan)\b
    | \b(?:do\s+not|don't|never)\s+(?:tell|mention|reveal)\b[^.\n]{0,30}\b(?:user|human|person)\b
    | <\s*+(?:/\s*+)?(?:system|assistant|tool_call|instructions?)\s*+>
    | \[/?(?:INST|SYSTEM)\]
    | <\|(?:im_start|im_end|system|user|assistant|endoftext)\|>
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PARAGRAPH_END = re.compile(r"\n\s*\n|(?<=[.!?:\"')])\n")
"""A blank line, or a line that ends a sentence."""


def injected_spans(text: str) -> list[Span]:
    """Find the paragraphs, as byte spans, in which a source tries to give instructions."""
    spans: list[Span] = []
    for start, end in _paragraphs(text):
        if _ASKS.search(text, start, end):
            at = len(text[:start].encode("utf-8"))
            spans.append(Span(at, at + len(text[start:end].encode("utf-8"))))
    return spans


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _PARAGRAPH_END.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)
