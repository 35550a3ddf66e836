"""Seals: what a run wrote into its state itself, and nobody who may change the state by hand.

A thread's owner can edit its state through the server. A plan that says it was approved, or a
report that says it was checked, counts only with a seal that needs the operator's key.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bathysphere.core.canonical import canonical

SEALED = (
    "thread_id",
    "user_query",
    "approved_plan",
    "plan_hash",
    "audits",
    "approvals",
    "used",
    "denied",
    "sources",
    "report",
    "finished_at",
)
"""The fields that a proof carries."""
PERMIT = ("thread_id", "user_query", "approvals")
"""The fields that make a permission; an approval names its plan by hash."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals data with a key, and checks seals."""

    key: bytes = field(repr=False)

    def seal(self, value: Any) -> str:
        """The seal under some data."""
        return hmac.new(self.key, canonical(value), sha256).hexdigest()

    def is_sealed(self, value: Any, seal: str | None) -> bool:
        """Whether the seal is the one under this data."""
        return seal is not None and hmac.compare_digest(self.seal(value), seal)


def contents_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a finished run is sealed with."""
    return {"of": "report", **{name: state.get(name) for name in SEALED}}


def permit_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """What an approval is sealed with."""
    return {"of": "permit", **{name: state.get(name) for name in PERMIT}}
