"""Follow-ups: how a message on a thread with a report is understood.

`answer` is answered from the sources already read, `extend` adds steps to the plan, `new` starts
over. The person is told which was chosen, and can choose otherwise in the next message.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from bathysphere.agents.research.history import earlier_questions
from bathysphere.agents.research.passages import words_of
from bathysphere.agents.research.plan_state import read_plan
from bathysphere.agents.research.prompts import fenced
from bathysphere.agents.research.report_store import StoredReport
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.policy.plan import Step

Kind = Literal["answer", "extend", "new"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SAFE: Kind = "answer"
"""The kind when a model's choice is unusable: it uses no tools, so nothing leaves."""
CHOSEN: Mapping[str, str] = {
    "answer": "Answered from the sources already read",
    "extend": "An extension of the research: its sources are kept, new steps need your approval",
    "new": "New research: the plan needs your approval; earlier reports are kept",
}
UNUSABLE = "the model did not say which kind of follow-up this is"
OTHERWISE: Mapping[str, str] = {
    "answer": "write “extend the research” or “start new research”",
    "extend": "write “answer from the sources” or “start new research”",
    "new": "write “answer from the sources” or “extend the research”",
}


def is_extension(state: Mapping[str, Any]) -> bool:
    """Whether the run extends the plan of an earlier report."""
    return (state.get("follow_up") or {}).get("kind") == "extend"


def explain(kind: str, reason: str) -> str:
    """What was chosen and why, and how to choose differently."""
    why = f" ({reason})" if reason else ""
    return f"{CHOSEN[kind]}{why}. To choose otherwise, {OTHERWISE[kind]}."


def done_steps(state: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps of an extended plan that an earlier run carried out."""
    if not is_extension(state) or not state.get("plan"):
        return ()
    results = state.get("step_results") or {}
    return tuple(step for step in read_plan(state["plan"]).steps if step.id in results)


def sources_of(reports: Iterable[StoredReport]) -> list[dict[str, Any]]:
    """The sources of several reports, each once, those of the newest report first."""
    newest_first = [one for report in reversed(list(reports)) for one in report.values["sources"]]
    return list({one["id"]: one for one in newest_first}.values())


def most_relevant(snapshots: Iterable[Snapshot], question: str) -> list[Snapshot]:
    """The sources that share the most words with a question first."""
    wanted = words_of(question)
    return sorted(snapshots, key=lambda one: -len(words_of(one.text) & wanted))


def earlier_material(state: Mapping[str, Any]) -> str | None:
    """The questions before a follow-up, for the model."""
    questions: Sequence[str] = earlier_questions(state) if state.get("follow_up") else ()
    return fenced("earlier", "\n".join(f"- {one}" for one in questions)) if questions else None
