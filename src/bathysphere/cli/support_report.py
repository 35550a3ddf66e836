"""What `doctor --report` prints: findings to share in an issue, without what is private.

Values of settings do not appear, but for the names of models. Findings can mention addresses,
folders and the user's name; these are replaced, and the names of the settings in use are listed
instead of their values.
"""

import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_OURS = ("BATHYSPHERE_", "OLLAMA_", "LM_STUDIO_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GCS_")
_KEYS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
_ADDRESS = re.compile(r"(://)[^\s,;)'\"]+")
_SHORTEST_VALUE = 4
"""Shorter values, such as `1` or `off`, are parts of ordinary words."""
PACKAGES = ("deepagents", "langchain", "langgraph", "langgraph-sdk", "psycopg", "pydantic")


def support_report(
    sections: Iterable[tuple[str, Sequence[str]]], *, environment: Mapping[str, str], home: Path
) -> Iterator[str]:
    """Yield the lines of a report.

    Args:
        sections: Titles, each with the lines of its findings.
        environment: The process's environment.
        home: The user's home folder.
    """
    from importlib.metadata import version

    yield f"system: {platform.system()} {platform.release()} {platform.machine()}"
    yield f"python: {platform.python_implementation()} {platform.python_version()}"
    yield "packages: " + ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    names = sorted(filter(_is_setting, environment))
    yield f"settings in use: {', '.join(names) or 'none'}"
    for title, lines in sections:
        yield redact(title, environment=environment, home=home)
        for line in lines:
            yield redact(f"  {line}", environment=environment, home=home)


def redact(text: str, *, environment: Mapping[str, str], home: Path) -> str:
    """Replace values of settings, addresses and the home folder."""
    for name in sorted(environment, key=lambda name: -len(environment[name])):
        value = environment[name]
        if _is_private(name) and len(value) >= _SHORTEST_VALUE:
            text = text.replace(value, f"<{name}>")
    text = _ADDRESS.sub(r"\1…", text)
    if not home.name:  # a container's user may live in the root folder
        return text
    return text.replace(str(home), "~").replace(home.name, "<user>")


def _is_setting(name: str) -> bool:
    return name.startswith(_OURS) or any(key in name for key in _KEYS)


def _is_private(name: str) -> bool:
    """Everything but the names of models, which most problems depend on."""
    return _is_setting(name) and not name.startswith("BATHYSPHERE_MODEL_")
