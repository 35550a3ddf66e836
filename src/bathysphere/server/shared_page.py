"""The page of a shared conversation: static HTML, with no script and no request to anywhere.

What was said comes from people and models. Markdown becomes HTML with raw HTML and images switched
off, and links only to the web and to mail addresses; the content policy allows the page's own style
and nothing else.
"""

import base64
import hashlib
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from bathysphere.core.invisible import reveal
from bathysphere.engine.conversations.shares import Snapshot

_SCHEMES = ("http://", "https://", "mailto:")
_NAMES = {"person": "Person", "agent": "Agent"}
_MISSING = """
<p>It may have been revoked, its time may be over, or the link is not complete.
Ask whoever sent it to you.</p>
"""


def shared_page(snapshot: Snapshot) -> str:
    """Return the page with a snapshot."""
    messages = "\n".join(_message(each["role"], each["text"]) for each in snapshot.messages)
    day, end = (f"{at:%d %B %Y}" for at in (snapshot.created_at, snapshot.expires_at))
    note = f'<p class="note">A copy of {day}, to be read until {end}. Agents can be wrong.</p>'
    return _page(reveal(snapshot.title) or "Shared conversation", f"{note}\n{messages}")


def missing_page() -> str:
    """Return the page for a link that shows nothing."""
    return _page("This conversation is not shared", _MISSING)


def page_headers() -> dict[str, str]:
    """The headers of these pages: only their own style, in no frame, cache or search engine."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = (
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-popups allow-popups-to-escape-sandbox",
    )
    return {
        "content-security-policy": "; ".join(policy),
        "cache-control": "no-store",
        "x-robots-tag": "noindex, nofollow",
    }


def _message(role: str, text: str) -> str:
    body = f"<p>{escape(text)}</p>" if role == "person" else _markdown().render(text)
    return f'<section class="{escape(role)}"><h2>{_NAMES.get(role, "")}</h2>{body}</section>'


def _page(title: str, body: str) -> str:
    name = escape(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>{name} · Bathysphere</title>
<style>{_style()}</style>
</head>
<body>
<main>
<h1>{name}</h1>
{body}
</main>
</body>
</html>
"""


@cache
def _style() -> str:
    return (files("bathysphere.server") / "shared_page.css").read_text(encoding="utf-8")


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.disable("image")
    markdown.validateLink = lambda url: url.lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    markdown.add_render_rule("link_open", _link)
    markdown.add_render_rule("heading_open", _heading)
    markdown.add_render_rule("heading_close", _heading)
    return markdown


def _link(
    self: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """A link that opens beside the page and tells the site nothing of it."""
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, env)


def _heading(
    self: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """A heading below that of the message."""
    level = min(6, int(tokens[index].tag[1]) + 2)
    tokens[index].tag = f"h{level}"
    return self.renderToken(tokens, index, options, env)
