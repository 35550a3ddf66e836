"""The synthesizer: writes a report in which every quote is verified.

The model drafts claims with quotes. Every quote is matched against the snapshots, to the byte. The
model may replace the quotes of a claim once if none matches; a claim that is still unsupported is
marked or dropped, as configured, and the report states this. Then a second model judges whether the
claims follow from their quotes (`judge.py`); its judgements change nothing of this.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.dependencies import (
    Dependencies,
    spend,
    thread_of,
    thread_reports,
    thread_snapshots,
    tokens_left,
)
from bathysphere.agents.research.drafting import citation_of, excerpts, section_of
from bathysphere.agents.research.follow_up import earlier_material
from bathysphere.agents.research.forms import ClaimForm, RepairForm, ReportForm
from bathysphere.agents.research.history import History
from bathysphere.agents.research.judge import Judge
from bathysphere.agents.research.outcome import explain_nothing
from bathysphere.agents.research.parallel import all_of
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.plan_seal import check_permit, report_of
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.snapshot_store import snapshots_of
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.structured_output import Answer
from bathysphere.agents.research.trace import entry
from bathysphere.core.words import count
from bathysphere.evidence.quotes import check_quote
from bathysphere.evidence.render.markdown import to_markdown
from bathysphere.evidence.report import (
    Draft,
    DraftContradiction,
    Report,
)
from bathysphere.evidence.settle import settle
from bathysphere.evidence.snapshots import Snapshot

NODE = "synthesizer"
HEADING = "Findings"
MAX_REPAIRS = 8
"""Maximum number of claims to repair per draft."""


class Synthesizer:
    """Writes verified reports from sources."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Write the report of a run whose steps are done.

        Raises:
            NotApproved: The approvals are not sealed by this deployment.
            SourceChanged: A source was modified after it was read.
        """
        check_permit(self._deps.sealer, state, thread_of(runtime))
        sources = state.get("sources") or []
        snapshots = await snapshots_of(thread_snapshots(self._deps, runtime), sources)
        numbered = {f"S{number}": key for number, key in enumerate(snapshots, 1)}
        tokens, claims, disputes = 0, list[ClaimForm](), ReportForm().contradictions
        if snapshots:
            asked = await self._deps.main.ask(
                ReportForm, system=system(NODE), user=self._material(state, snapshots)
            )
            claims, repairing = await self._repair(asked.value.claims, snapshots, numbered)
            tokens, disputes = asked.tokens + repairing, asked.value.contradictions
        report = settle(
            Draft(
                title=state["user_query"][:4_000],
                sections=(section_of(HEADING, claims),),
                contradictions=tuple(
                    DraftContradiction(topic=one.about, sides=tuple(map(citation_of, one.sides)))
                    for one in disputes
                    if len(one.sides) > 1
                ),
            ),
            snapshots,
            question=state["user_query"],
            unsupported=self._deps.options.unsupported,
            numbered=numbered,
        )
        if not report.tally.claims:
            return self._nothing(state, tokens)
        report, tokens = await self._judged(state, report, tokens)
        update = self._completed(state, report, tokens, thread_of(runtime))
        report_id = await thread_reports(self._deps, runtime).put({**state, **update})
        return {**update, "history": self._history(state, report_id, thread_of(runtime))}

    def _history(self, state: ResearchState, report_id: str, thread: str) -> dict[str, Any]:
        sealer = self._deps.sealer
        history = History.read(sealer, state.get("history"), thread)
        return history.with_report(report_id).plain(sealer, thread)

    async def _judged(
        self, state: ResearchState, report: Report, tokens: int
    ) -> tuple[Report, int]:
        """Add judgements to the report; returns it and the tokens used until then."""
        spend(self._deps, state, tokens)  # a draft over the limit fails before it is judged
        if not self._deps.options.judge:
            return report, tokens
        left = tokens_left(self._deps, state, tokens)
        judged = await Judge(self._deps.audit).judge(report, tokens=left)
        # A call that took more than its estimate does not undo the report.
        return judged.report, tokens + min(judged.tokens, left)

    def _nothing(self, state: ResearchState, tokens: int) -> dict[str, Any]:
        """Fail a run that found nothing, so that no empty report looks like an answer."""
        text = explain_nothing(state)
        return {
            "status": "failed",
            "error_message": text,
            "messages": [{"role": "assistant", "content": text}],
            "reasoning": [entry(self._deps.clock, NODE, text)],
            **spend(self._deps, state, tokens),
        }

    def _completed(
        self, state: ResearchState, report: Report, tokens: int, thread: str
    ) -> dict[str, Any]:
        text = to_markdown(report)
        update: dict[str, Any] = {
            "status": "complete",
            "report": report.model_dump(mode="json"),
            "final_report": text,
            "finished_at": self._deps.clock.now().isoformat(timespec="seconds"),
            "error_message": None,
            **spend(self._deps, state, tokens),
        }
        update["seal"] = self._deps.sealer.seal(report_of({**state, **update}, thread))
        update["messages"] = [{"role": "assistant", "content": text}]
        update["reasoning"] = [entry(self._deps.clock, NODE, _summary(report))]
        return update

    def _material(self, state: ResearchState, snapshots: Mapping[str, Snapshot]) -> str:
        question = state["user_query"]
        named = ((f"S{number}", one) for number, one in enumerate(snapshots.values(), 1))
        shown = (_source(*one) for one in excerpts(named, question, self._deps.main.sizes))
        return together([fenced("question", question), earlier_material(state), *shown])

    async def _repair(
        self,
        claims: Sequence[ClaimForm],
        snapshots: Mapping[str, Snapshot],
        numbered: Mapping[str, str],
    ) -> tuple[list[ClaimForm], int]:
        """Repair claims whose quotes all fail; returns the claims and the tokens used."""
        broken = [at for at, claim in enumerate(claims) if _is_broken(claim, snapshots, numbered)]
        asked = await all_of(
            {
                at: self._quote_again(claims[at], snapshots, numbered, name=f"repair-{at}-")
                for at in broken[:MAX_REPAIRS]
            }
        )
        repaired, tokens = list(claims), 0
        for at, found in asked.items():
            tokens += found.tokens
            if found.value.quotes:
                again = claims[at].model_copy(update={"quotes": found.value.quotes})
                if not _is_broken(again, snapshots, numbered):
                    quotes = [*claims[at].quotes, *found.value.quotes]
                    repaired[at] = again.model_copy(update={"quotes": quotes})
        return repaired, tokens

    async def _quote_again(
        self,
        claim: ClaimForm,
        snapshots: Mapping[str, Snapshot],
        numbered: Mapping[str, str],
        *,
        name: str,
    ) -> Answer[RepairForm]:
        sizes = self._deps.main.sizes
        cited = [quote.source.strip("[] ") for quote in claim.quotes]
        names = [name for name in cited if name in numbered] or list(numbered)[: sizes.quotes]
        about = f"{claim.text} {' '.join(quote.quote for quote in claim.quotes)}"
        shown = [
            _source(name, snapshot, excerpt(snapshot.text, about, sizes.excerpt))
            for name, snapshot in ((one, snapshots[numbered[one]]) for one in dict.fromkeys(names))
        ]
        wrong = [fenced("quote", quote.quote, source=quote.source) for quote in claim.quotes]
        user = together([fenced("claim", claim.text), *wrong, *shown])
        return await self._deps.main.ask(RepairForm, system=system("repair"), user=user, name=name)


def _is_broken(
    claim: ClaimForm, snapshots: Mapping[str, Snapshot], numbered: Mapping[str, str]
) -> bool:
    """Whether none of the claim's quotes is in a source."""
    cited = ((quote.quote, quote.source.strip("[] ")) for quote in claim.quotes)
    checks = (check_quote(words, snapshots, numbered.get(name, name)) for words, name in cited)
    return not any(check.is_valid for check in checks)


def _source(name: str, snapshot: Snapshot, text: str) -> str:
    about = snapshot.info
    return fenced(
        "source", text, id=name, title=about.title, url=about.final_url, date=about.published or ""
    )


def _summary(report: Report) -> str:
    tally = report.tally
    return (
        f"{tally.supported + tally.repaired} of {count(tally.claims, 'claim')} supported by"
        f" {count(tally.quotes, 'quote')} from {count(tally.sources, 'source')};"
        f" {tally.unsupported} unsupported, {tally.dropped} dropped,"
        f" {count(tally.quotes_refused, 'quote')} refused,"
        f" {count(tally.contradictions, 'contradiction')}; {_in_figures(report)}"
    )


def _in_figures(report: Report) -> str:
    judgements = [c.judgement for s in report.sections for c in s.claims if c.judgement]
    against = sum(not one.follows for one in judgements)
    if not judgements:
        return "not judged"
    return f"{count(len(judgements), 'claim')} judged, {against} of them as not following"
