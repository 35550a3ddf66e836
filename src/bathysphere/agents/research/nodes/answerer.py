"""The answerer: answers a follow-up from the sources already read.

It has no tools, so there is nothing to approve. As in a report, every quote is matched against the
sealed snapshots, to the byte: a quote that is not found is left out, and a statement without one is
shown as not supported.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.answer_text import answer_text
from bathysphere.agents.research.dependencies import Dependencies, spend, thread_snapshots
from bathysphere.agents.research.drafting import excerpts, section_of
from bathysphere.agents.research.follow_up import earlier_material, most_relevant
from bathysphere.agents.research.forms import FollowUpForm
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.snapshot_store import snapshots_of
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.core.words import count
from bathysphere.evidence.report import Draft, Report
from bathysphere.evidence.settle import settle
from bathysphere.evidence.snapshots import Snapshot

NODE = "answerer"
HEADING = "Answer"


class Answerer:
    """Answers follow-ups without tools."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Answer from the sources of the thread's reports.

        Raises:
            SourceChanged: A source was modified after it was read.
        """
        question = state["user_query"]
        stored = thread_snapshots(self._deps, runtime)
        found = await snapshots_of(stored, state.get("sources") or [])
        best = most_relevant(found.values(), question)
        numbered = {f"S{number}": one.id for number, one in enumerate(best, 1)}
        asked = await self._deps.main.ask(
            FollowUpForm, system=system(NODE), user=self._material(state, numbered, found)
        )
        section = section_of(HEADING, asked.value.claims)
        checked = settle(
            Draft(title=question[:4_000], sections=(section,)),
            found,
            question=question,
            unsupported=self._deps.options.unsupported,
            numbered=numbered,
        )
        text = answer_text(checked, state["follow_up"] or {}, read=len(found))
        return {
            "status": "complete",
            "answer": {"text": text, "content": checked.model_dump(mode="json")},
            "messages": [{"role": "assistant", "content": text}],
            "reasoning": [entry(self._deps.clock, NODE, _summary(checked), raw=asked.raw)],
            **spend(self._deps, state, asked.tokens),
        }

    def _material(
        self,
        state: ResearchState,
        numbered: Mapping[str, str],
        snapshots: Mapping[str, Snapshot],
    ) -> str:
        question = state["user_query"]
        named = ((name, snapshots[one]) for name, one in numbered.items())
        shown = (
            fenced("source", text, id=name, title=of.info.title, date=of.info.published or "")
            for name, of, text in excerpts(named, question, self._deps.main.sizes)
        )
        return together([fenced("question", question), earlier_material(state), *shown])


def _summary(checked: Report) -> str:
    tally = checked.tally
    return (
        f"{tally.supported + tally.repaired} of {count(tally.claims, 'statement')} supported by"
        f" {count(tally.quotes, 'quote')}; {count(tally.quotes_refused, 'quote')} refused"
    )
