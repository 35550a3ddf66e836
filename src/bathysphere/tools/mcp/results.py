"""What a call returned, as bounded text for the model."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock

NOTHING = "(no content)"
CUT = "[Cut: the result has {total:,} bytes; these are its first {kept:,}.]"
LEFT_OUT = "[{what}, {size:,} characters of base64: left out]"


def result_text(result: "CallToolResult", *, max_bytes: int) -> str:
    """The text of a result; other content is named, and long text is cut with a note."""
    parts = [_block_text(block) for block in result.content]
    if not parts and result.structuredContent is not None:
        parts = [json.dumps(result.structuredContent, ensure_ascii=False)]
    return bounded("\n\n".join(parts) or NOTHING, max_bytes=max_bytes)


def bounded(text: str, *, max_bytes: int) -> str:
    """The text, or its beginning and a note of how much there is."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return data.decode()
    kept = data[:max_bytes].decode("utf-8", "ignore")
    return f"{kept}\n{CUT.format(total=len(data), kept=len(kept.encode()))}"


def _block_text(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "resource_link":
            return f"{block.name}: {block.uri}"
        case "resource":
            inner = block.resource
            text = getattr(inner, "text", None)
            if text is not None:
                return f"{inner.uri}\n{text}"
            return LEFT_OUT.format(what=f"Resource {inner.uri}", size=len(inner.blob))  # type: ignore[union-attr]  # it is a blob
        case _:
            return LEFT_OUT.format(what=f"{block.type} {block.mimeType}", size=len(block.data))
