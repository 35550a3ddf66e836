"""The words of `prompt.md`, and the material that is put below them, fenced off as material."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^## (\w+)\n", re.MULTILINE)
_CLOSING = re.compile(r"</(?=(?:source|knowledge|question|plan|claim|rule)\b)", re.IGNORECASE)

_OPENED = "<\u2060/"  # an invisible letter, which the comparison of quotes leaves out


@cache
def _parts() -> dict[str, str]:
    text = files("bathysphere.agents.research").joinpath("prompt.md").read_text(encoding="utf-8")
    _, *found = _HEADING.split(text)
    return {name: words.strip() for name, words in zip(found[::2], found[1::2], strict=True)}


def system(part: str) -> str:
    """What a node's model is told before anything else."""
    return f"{_parts()['everywhere']}\n\n{_parts()[part]}"


def fenced(tag: str, text: str, **about: str) -> str:
    """Material between tags that it cannot close itself."""
    attributes = "".join(f' {name}="{_flat(value)}"' for name, value in about.items() if value)
    return f"<{tag}{attributes}>\n{_CLOSING.sub(_OPENED, text)}\n</{tag}>"


def together(parts: Iterable[str | None]) -> str:
    """The pieces of a message, those that are empty left out."""
    return "\n\n".join(part for part in parts if part)


def _flat(value: str) -> str:
    return re.sub(r'[\s"<>]+', " ", value).strip()[:300]
