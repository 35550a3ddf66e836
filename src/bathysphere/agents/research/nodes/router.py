"""The router: decides how a message on a thread with a report is understood.

A thread without a report always starts new research, and no model is asked. Otherwise a model
chooses the kind, and follows what the person asks for in so many words. An unusable choice becomes
an answer from the sources already read, and the person is told.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from langgraph.runtime import Runtime

from bathysphere.agents.research.dependencies import (
    Dependencies,
    spend,
    thread_of,
    thread_reports,
    thread_snapshots,
)
from bathysphere.agents.research.follow_up import (
    SAFE,
    UNUSABLE,
    Kind,
    explain,
    most_relevant,
    sources_of,
)
from bathysphere.agents.research.forms import RouteForm
from bathysphere.agents.research.history import History
from bathysphere.agents.research.nodes.thinker import FRESH, question_of
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.report_store import ReportChanged, ReportNotFound, StoredReport
from bathysphere.agents.research.snapshot_store import snapshots_of
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.structured_output import AnswerUnusable
from bathysphere.agents.research.trace import entry

NODE = "router"
IGNORED = "Earlier reports were modified outside a run and are ignored"


class Choice(NamedTuple):
    """The kind of a follow-up."""

    kind: Kind
    reason: str
    is_usable: bool = True
    tokens: int = 0
    raw: str = ""


class Router:
    """Decides which kind of follow-up a message is."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Start a question: new research, or a follow-up to a report."""
        thread, question = thread_of(runtime), question_of(state)
        history = History.read(self._deps.sealer, state.get("history"), thread)
        reports, lines = await self._reports(history, runtime)
        update: dict[str, Any] = {
            **FRESH,
            "thread_id": thread,
            "user_query": question,
            "status": "started",
        }
        kind: Kind = "new"
        if reports:
            choice = await self._choose(question, history, reports, runtime)
            kind = choice.kind
            lines.append(
                entry(self._deps.clock, NODE, explain(kind, choice.reason), raw=choice.raw)
            )
            update |= _followed(choice, reports) | spend(self._deps, {}, choice.tokens)
        history = history.with_question(question, kind)
        update["history"] = history.plain(self._deps.sealer, thread)
        return {**update, "reasoning": lines}

    async def _reports(
        self, history: History, runtime: Runtime[Any]
    ) -> tuple[list[StoredReport], list[Any]]:
        """The reports on this branch of the thread; none if one was modified."""
        if not history.reports:
            return [], []
        stored = thread_reports(self._deps, runtime)
        try:
            return [await stored.get(one) for one in history.reports], []
        except (ReportChanged, ReportNotFound):
            return [], [entry(self._deps.clock, NODE, IGNORED)]

    async def _choose(
        self,
        message: str,
        history: History,
        reports: Sequence[StoredReport],
        runtime: Runtime[Any],
    ) -> Choice:
        user = await self._material(message, history, reports, runtime)
        try:
            answer = await self._deps.main.ask(RouteForm, system=system(NODE), user=user)
        except AnswerUnusable as error:
            return Choice(SAFE, UNUSABLE, is_usable=False, raw=str(error))
        return Choice(answer.value.kind, answer.value.reason, True, answer.tokens, answer.raw)

    async def _material(
        self,
        message: str,
        history: History,
        reports: Sequence[StoredReport],
        runtime: Runtime[Any],
    ) -> str:
        sizes = self._deps.main.sizes
        stored = thread_snapshots(self._deps, runtime)
        snapshots = await snapshots_of(stored, sources_of(reports))
        best = most_relevant(snapshots.values(), message)[: sizes.sources]
        room = sizes.shown // (4 * max(1, len(best)))
        shown = [
            fenced("source", excerpt(one.text, message, room), title=one.info.title) for one in best
        ]
        asked = [f"- {one['kind']}: {one['question']}" for one in history.asked]
        return together([fenced("message", message), fenced("earlier", "\n".join(asked)), *shown])


def _followed(choice: Choice, reports: Sequence[StoredReport]) -> dict[str, Any]:
    """State of a follow-up; an extension starts from the plan and sources of the last report."""
    last = reports[-1]
    follow_up = {
        "kind": choice.kind,
        "reason": choice.reason,
        "is_usable": choice.is_usable,
        "report": last.id,
        "note": explain(choice.kind, choice.reason),
    }
    if choice.kind == "answer":
        return {"follow_up": follow_up, "sources": sources_of(reports)}
    if choice.kind == "new":
        return {"follow_up": follow_up}
    carried = {name: last.values[name] for name in ("sources", "step_results", "used")}
    carried_ids = [one["id"] for one in last.values["sources"]]
    return {
        "follow_up": {**follow_up, "sources": carried_ids},
        "plan": last.values["approved_plan"],
        **carried,
    }
