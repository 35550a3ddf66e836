"""References in an `mcp.json`: `${NAME}`, `${NAME:-default}` and `${env:NAME}`.

So a file that is shared or kept in a repository contains no secrets.
"""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]{0,100})(?::-([^}]{0,1000}))?\}")


class UnsetVariable(LookupError):
    """A reference names a variable that is not set and has no default."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def resolve(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with its references replaced.

    Raises:
        UnsetVariable: A variable is not set.
    """

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        known = variables.get(name) or default
        if known is None:
            raise UnsetVariable(name)
        return known

    return _REFERENCE.sub(value, text)
