"""Earlier questions on a thread, and the reports on its current branch.

A thread can be forked, so its stored reports may come from lines that the person left; the state
says which ones count. It is read after a client wrote the next question, when the seal of the last
step no longer matches, so it has a seal of its own. One that does not match is taken as empty.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from bathysphere.agents.research.plan_seal import Sealer

MAX_QUESTIONS = 6
MAX_REPORTS = 20
_LONGEST = 600


class History(NamedTuple):
    """Earlier questions, each with its kind, and ids of reports; oldest first."""

    asked: tuple[Mapping[str, Any], ...] = ()
    reports: tuple[str, ...] = ()

    @classmethod
    def read(cls, sealer: Sealer, value: object, thread_id: str) -> Self:
        """Read a sealed history; empty if it was not written by this deployment on this thread."""
        if not isinstance(value, Mapping):
            return cls()
        known = {name: value.get(name) for name in ("asked", "reports")}
        if not sealer.is_sealed(_sealed(known, thread_id), value.get("seal")):
            return cls()
        return cls(tuple(value["asked"]), tuple(value["reports"]))

    def plain(self, sealer: Sealer, thread_id: str) -> dict[str, Any]:
        """The history for the state, with its seal."""
        known = {"asked": list(self.asked), "reports": list(self.reports)}
        return {**known, "seal": sealer.seal(_sealed(known, thread_id))}

    def with_question(self, question: str, kind: str) -> Self:
        """Add a question and how it was understood."""
        asked = (*self.asked, {"question": question[:_LONGEST], "kind": kind})
        return self._replace(asked=asked[-MAX_QUESTIONS:])

    def with_report(self, report_id: str) -> Self:
        """Add a report; adding it again has no effect."""
        others = tuple(known for known in self.reports if known != report_id)
        return self._replace(reports=(*others, report_id)[-MAX_REPORTS:])


def earlier_questions(state: Mapping[str, Any]) -> Sequence[str]:
    """The questions before the current one, oldest first."""
    asked = (state.get("history") or {}).get("asked") or ()
    return [str(one["question"]) for one in asked][:-1]


def _sealed(known: Mapping[str, Any], thread_id: str) -> dict[str, Any]:
    return {"of": "history", "thread": thread_id, **known}
