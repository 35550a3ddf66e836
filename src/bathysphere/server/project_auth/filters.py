"""Filters that a project's handlers return: conditions on a resource's metadata.

`{"field": value}` and `{"field": {"$eq": value}}` compare; `{"field": {"$contains": value}}` asks
for an element of a list, or for several. All conditions must hold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bathysphere.core.errors import CallerError

Filter = Mapping[str, Any]
_SCALARS = (str, int, float, bool)


class AccessDenied(CallerError):
    """The project's authorization refuses this request. HTTP 403."""

    code = "access_denied"
    status = 403

    def __init__(self, message: str = "Access denied", *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or "ask the operator of this server for access")


def wanted_metadata(conditions: Filter) -> dict[str, Any]:
    """The metadata that a resource must contain, as PostgreSQL's `@>` compares it.

    Raises:
        AccessDenied: The filter cannot be applied, so nothing may be shown.
    """
    return {name: _wanted(name, condition) for name, condition in conditions.items()}


def _wanted(name: str, condition: Any) -> Any:
    if isinstance(condition, _SCALARS) and not name.startswith("$"):
        return condition
    if isinstance(condition, Mapping) and len(condition) == 1:
        ((operator, value),) = condition.items()
        if operator == "$eq" and isinstance(value, _SCALARS):
            return value
        if operator == "$contains":
            values = [value] if isinstance(value, _SCALARS) else value
            if isinstance(values, Sequence) and all(isinstance(one, _SCALARS) for one in values):
                return list(values)
    raise AccessDenied(
        f"The filter of the project's handler cannot be applied: {name!r}",
        hint="use a text, {'$eq': text} or {'$contains': text}",
    )


def matches(conditions: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether a resource with this metadata may be seen."""
    return all(
        name in metadata and _holds(wanted, metadata[name])
        for name, wanted in wanted_metadata(conditions).items()
    )


def _holds(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(found, list) and all(any(_same(w, f) for f in found) for w in wanted)
    return _same(wanted, found)


def _same(wanted: Any, found: Any) -> bool:
    """Compare as JSON does: `true` is not 1."""
    return isinstance(wanted, bool) == isinstance(found, bool) and bool(wanted == found)


def narrowed(asked: Mapping[str, Any], conditions: Filter) -> dict[str, Any] | None:
    """Add a filter to the metadata that a client searches for; None if nothing can match both."""
    result = dict(asked)
    for name, wanted in wanted_metadata(conditions).items():
        if name not in result:
            result[name] = wanted
        elif isinstance(wanted, list) and isinstance(result[name], list):
            result[name] = [*result[name], *wanted]
        elif isinstance(wanted, list) or not _same(wanted, result[name]):
            return None
    return result
