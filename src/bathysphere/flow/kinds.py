"""The kinds of arguments: which must be vouched for, and how.

| kind | in a call that changes or sends something |
|---|---|
| `who`, `where`, `what`, `id:<type>`, `amount`, `secret` | must be vouched for |
| `inside` | a place or person within the organization: needs only the plan |
| `text` | must not contain an address that nobody vouched for |
| `when`, `flag` | must equal the literal of the step, if it has one |
| `query` | needs no plan until something secret was read |

An argument without a kind must be vouched for.
"""

from bathysphere.core.errors import ConfigError

Kind = str
"""One of the kinds above."""

UNNAMED: Kind = ""
"""The kind of an argument that a declaration does not name."""

WHO, WHERE, WHAT, AMOUNT, SECRET = "who", "where", "what", "amount", "secret"
INSIDE, TEXT, WHEN, FLAG, QUERY = "inside", "text", "when", "flag", "query"
ID_PREFIX = "id:"

_OPEN = frozenset({INSIDE, TEXT, WHEN, FLAG, QUERY})
_KINDS = _OPEN | {WHO, WHERE, WHAT, AMOUNT, SECRET}


def is_sensitive(kind: Kind) -> bool:
    """Whether values of a kind must be vouched for."""
    return kind not in _OPEN


def is_harmless_question(kind: Kind) -> bool:
    """Whether an argument of this kind only asks for information."""
    return kind in (QUERY, WHEN, FLAG)


def check_kind(kind: Kind) -> None:
    """Check that a kind exists.

    Raises:
        ConfigError: The kind is unknown.
    """
    if kind in _KINDS or (kind.startswith(ID_PREFIX) and len(kind) > len(ID_PREFIX)):
        return
    known = ", ".join(sorted(_KINDS))
    raise ConfigError(f"Unknown kind of argument: {kind!r}", hint=f"use one of {known}, id:<type>")
