"""Prompts from `prompt.md`, and tags that delimit untrusted material."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^## (\w+)\n", re.MULTILINE)
_CLOSING = re.compile(
    r"</(?=(?:source|knowledge|question|message|earlier|plan|claim|quote|rule|sentence)\b)",
    re.IGNORECASE,
)

_OPENED = "<\u2060/"  # an invisible character, ignored when quotes are compared


@cache
def _parts() -> dict[str, str]:
    text = files("bathysphere.agents.research").joinpath("prompt.md").read_text(encoding="utf-8")
    _, *found = _HEADING.split(text)
    return {name: words.strip() for name, words in zip(found[::2], found[1::2], strict=True)}


def system(part: str) -> str:
    """The system prompt of a node."""
    return f"{_parts()['everywhere']}\n\n{_parts()[part]}"


def fenced(tag: str, text: str, **about: str) -> str:
    """Wrap material in tags that it cannot close."""
    attributes = "".join(f' {name}="{_flat(value)}"' for name, value in about.items() if value)
    return f"<{tag}{attributes}>\n{_CLOSING.sub(_OPENED, text)}\n</{tag}>"


def together(parts: Iterable[str | None]) -> str:
    """Join the non-empty parts of a message."""
    return "\n\n".join(part for part in parts if part)


def _flat(value: str) -> str:
    return re.sub(r'[\s"<>]+', " ", value).strip()[:300]
