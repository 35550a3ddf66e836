"""Settings of a `langgraph.json` beside its graphs: the store's index, and expiry."""

from dataclasses import dataclass
from typing import Any

from bathysphere.registry.targets import AttributeTarget

SWEEP_MINUTES = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreIndex:
    """`store.index`: how items of the store are found by meaning."""

    dims: int
    embed: AttributeTarget | str
    """A function of the project, or `provider:model`."""
    fields: tuple[str, ...] = ("$",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expiry:
    """A `ttl`: when unused items or threads are deleted."""

    minutes: float | None = None
    """None: only what has a time of its own expires."""
    sweep_minutes: float = SWEEP_MINUTES
    refreshes_on_read: bool = True


class SectionProblem(ValueError):
    """What is wrong with a key of a section."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"'{key}' {problem}")
        self.key = key
        self.problem = problem


def expiry_of(key: str, section: Any, *, allowed: frozenset[str]) -> Expiry | None:
    """Read a `ttl`.

    Raises:
        SectionProblem: It is not valid.
    """
    if not section:
        return None
    if not isinstance(section, dict):
        raise SectionProblem(key, "must be an object")
    if unknown := section.keys() - allowed:
        raise SectionProblem(f"{key}.{min(unknown)}", "is not supported")
    if section.get("strategy", "delete") != "delete":
        raise SectionProblem(f"{key}.strategy", "must be 'delete'")
    minutes = _minutes(key, section, "default_ttl")
    sweep = _minutes(key, section, "sweep_interval_minutes")
    return Expiry(
        minutes=minutes,
        sweep_minutes=sweep if sweep is not None else SWEEP_MINUTES,
        refreshes_on_read=bool(section.get("refresh_on_read", True)),
    )


def check_index(key: str, section: Any) -> tuple[int, str, tuple[str, ...]]:
    """Read the parts of `store.index`: dimensions, embedding, fields.

    Raises:
        SectionProblem: It is not valid.
    """
    if not isinstance(section, dict):
        raise SectionProblem(key, "must be an object")
    if unknown := section.keys() - {"dims", "embed", "fields"}:
        raise SectionProblem(f"{key}.{min(unknown)}", "is not supported")
    dims, embed, fields = section.get("dims"), section.get("embed"), section.get("fields")
    if not isinstance(dims, int) or isinstance(dims, bool) or not 0 < dims <= 16_000:
        raise SectionProblem(f"{key}.dims", "must be the length of the embedding's vectors")
    if not isinstance(embed, str) or ":" not in embed:
        raise SectionProblem(f"{key}.embed", "must be provider:model or ./file.py:function")
    if fields is not None and not _is_texts(fields):
        raise SectionProblem(f"{key}.fields", "must be a list of paths in an item's value")
    return dims, embed, tuple(fields or ("$",))


def _minutes(key: str, section: dict[str, Any], name: str) -> float | None:
    value = section.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise SectionProblem(f"{key}.{name}", "must be a number of minutes above 0")
    return float(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)
