"""Seals, which prove that data was written by a run of this deployment.

A seal is an HMAC with a key derived from the operator's. Whoever can change a thread's
state or store cannot forge one. Data is sealed where it is created:

| what | by | bound to |
|---|---|---|
| the whole state after a step (`step_seal`) | every node | thread, node, the step before |
| approvals (`permit`) | the gate | thread, question, the approval before |
| a snapshot, a call and its result | the tool layer | thread, step, call |
| the report and the contents of its proof (`seal`) | the synthesizer | thread, permit |

Each later step and the download check them (`steps.py`, `snapshot_store.py`, `download.py`).
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bathysphere.core.canonical import NotCanonical, canonical
from bathysphere.policy.permission import NotApproved

REPORT = (
    "user_query",
    "approved_plan",
    "plan_hash",
    "audits",
    "approvals",
    "permit",
    "used",
    "denied",
    "sources",
    "report",
    "final_report",
    "finished_at",
)
"""State fields that a proof contains or depends on."""
ASKED = ("user_query", "documents", "knowledge_context", "context_urls")
"""The question and its attachments, which an approval is bound to."""
NOT_APPROVED = "The plan was not approved on this deployment"


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals data with a key, and checks seals."""

    key: bytes = field(repr=False)

    def seal(self, value: Any) -> str:
        """Compute the seal of a value."""
        return hmac.new(self.key, canonical(value), sha256).hexdigest()

    def is_sealed(self, value: Any, seal: object) -> bool:
        """Whether a seal matches a value."""
        try:
            expected = self.seal(value)
        except NotCanonical:  # cannot have been sealed
            return False
        return is_same(expected, seal)

    def chain(self, bound: Mapping[str, Any], entries: Sequence[Any]) -> str:
        """Seal a list of entries, each bound to the one before it."""
        seal = ""
        for entry in entries:
            seal = self.seal({**bound, "after": seal, "entry": entry})
        return seal


def report_of(state: Mapping[str, Any], thread_id: str) -> dict[str, Any]:
    """The data that a report's seal covers."""
    fields = {name: state.get(name) for name in REPORT}
    return {"of": "report", "thread": thread_id, "fields": fields}


def permit_of(sealer: Sealer, state: Mapping[str, Any], thread_id: str) -> str:
    """The permit: the chained seal of the person's approvals."""
    asked = {name: state.get(name) for name in ASKED}
    bound = {"of": "approval", "thread": thread_id, "asked": asked}
    return sealer.chain(bound, state.get("approvals") or [])


def check_permit(sealer: Sealer, state: Mapping[str, Any], thread_id: str) -> None:
    """Reject approvals that were not written by this deployment.

    Raises:
        NotApproved: The permit does not match the thread's approvals.
    """
    has_approvals = bool(state.get("approvals"))
    if not has_approvals or not is_same(permit_of(sealer, state, thread_id), state.get("permit")):
        raise NotApproved(NOT_APPROVED, hint="approve the plan when asked")


def is_same(expected: str, seal: object) -> bool:
    """Compare two seals in constant time."""
    return isinstance(seal, str) and seal.isascii() and hmac.compare_digest(expected, seal)
