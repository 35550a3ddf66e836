"""Parser of `.env` files: lines of `NAME=value`, as in langgraph and Docker."""

import re
from collections.abc import Mapping

from bathysphere.core.errors import ConfigError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")


def parse_env_file(text: str, *, name: str = ".env") -> Mapping[str, str]:
    """Parse the variables of a file; quotes around a value are removed, `#` starts a comment.

    Raises:
        ConfigError: A line is not `NAME=value`.
    """
    found: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ConfigError(
                f"Line {number} of {name} is not NAME=value", hint=f"correct {name}, or remove it"
            )
        found[match.group(1)] = _value(match.group(2))
    return found


def _value(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return _COMMENT.sub("", text).strip()
