"""One question per call: what the layer that asks shows, and which call its answer lets run.

Several layers may have to ask about one call: approvals, file approvals, MCP and flow control. The
outermost of them asks, shows the reasons of flow control with its own, and reports the answer here;
the others then let exactly that call run, once. Nothing is stored: after a restart the layers run
again, and the one that asked gets its answer again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from bathysphere.core.canonical import sha256
from bathysphere.core.json_text import dumps
from bathysphere.flow.declarations import ToolFlow
from bathysphere.flow.ledger import Entries, merge

Answer = Literal["approved", "allowed", "refused", "answered"]
"""`allowed`: the person allowed the tool earlier, without seeing this call; `answered`: they gave
the result themselves."""


@dataclass(frozen=True)
class Explanation:
    """Why flow control would ask about a call; without reasons it would not."""

    reasons: Sequence[Mapping[str, Any]] = ()
    text: str = ""
    """The reasons in words."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that a question about the call has in addition."""
        return {"flow": {"reasons": list(self.reasons)}} if self.reasons else {}


Explain = Callable[[ToolFlow | None], Explanation]


@dataclass
class Consent:
    """A call on its way through the layers, and the person's answer about it."""

    call: str
    explain: Explain
    answer: Answer | None = None
    approved: str | None = None
    """The digest of the call that the person let run, until it runs."""
    is_reached: bool = False
    """Whether the call got as far as flow control."""
    added: Entries = field(default_factory=dict)
    """What the call adds to the ledger."""


_current: ContextVar[Consent | None] = ContextVar("bathysphere_consent", default=None)


@contextmanager
def tracked(call: str, explain: Explain) -> Iterator[Consent]:
    """Track a call through the layers within."""
    consent = Consent(call, explain)
    token = _current.set(consent)
    try:
        yield consent
    finally:
        _current.reset(token)


def explanation(call: str, declared: ToolFlow | None = None) -> Explanation:
    """The reasons of flow control for a question about a call.

    Args:
        call: The id of the call.
        declared: What its tool does, if only the layer that asks knows.
    """
    consent = _of(call)
    return consent.explain(declared) if consent else Explanation()


def report(call: Mapping[str, Any], answer: Answer) -> None:
    """Report the person's answer about a call, as it would run."""
    consent = _of(str(call["id"]))
    if consent is not None:
        consent.answer = answer
        consent.approved = digest(call) if answer in ("approved", "allowed") else None


def take(call: Mapping[str, Any]) -> Answer | None:
    """The answer that lets exactly this call run, which it uses up; None if there is none."""
    consent = _of(str(call["id"]))
    if consent is None:
        return None
    consent.is_reached = True
    approved, consent.approved = consent.approved, None
    return consent.answer if approved is not None and approved == digest(call) else None


def leave(call: Mapping[str, Any], added: Entries) -> bool:
    """Leave what a call adds to the ledger to the outermost layer; False if there is none.

    The layers between get the tool's own result.
    """
    consent = _of(str(call["id"]))
    if consent is None:
        return False
    consent.added = merge(consent.added, added)
    return True


def digest(call: Mapping[str, Any]) -> str:
    """The hash of a call's tool and arguments."""
    return sha256(dumps([call["name"], sorted(call["args"].items())]))


def _of(call: str) -> Consent | None:
    consent = _current.get()
    return consent if consent is not None and consent.call == call else None
