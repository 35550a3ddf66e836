"""The auditor: checks a plan against POLICY.md's rules, then asks a model what they leave open.

Open are the policy's questions and the sentences of its prose. The model's answers are judgements:
they can add violations, and remove none that a rule found.

A rejected plan returns to the thinker, a limited number of times; a rejected edit returns to the
person; rejected additional steps are dropped, and the approved plan continues.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.dependencies import Dependencies, spend
from bathysphere.agents.research.forms import MAX_JUDGEMENTS, AuditForm
from bathysphere.agents.research.plan_state import read_plan, with_outputs
from bathysphere.agents.research.private_texts import private_texts
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.policy.audit import (
    PROSE,
    Judgement,
    OpenQuestion,
    Verdict,
    Violation,
    audit,
    judge,
)
from bathysphere.policy.plan import Plan

NODE = "auditor"
CEILING = "The plan was rejected {count} times, the maximum. Last reason: {why}"


class Auditor:
    """Checks plans against the policy."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Audit the current plan."""
        plan = read_plan(state["plan"] or {})
        private = await private_texts(self._deps, state, runtime)
        verdict, tokens = await self._verdict(state, plan, private)
        update = {
            "plan_hash": plan.sha256,
            "audit_result": result_of(verdict),
            "audits": [*(state.get("audits") or []), verdict.plain()],
            **spend(self._deps, state, tokens),
        }
        if verdict.verdict == "approved":
            return {**update, "status": "awaiting_approval", "reasoning": [self._line(verdict)]}
        return {**update, **self._refused(state, verdict)}

    async def _verdict(
        self, state: ResearchState, plan: Plan, private: Sequence[str]
    ) -> tuple[Verdict, int]:
        verdict = audit(plan, self._deps.policy, question=state["user_query"], private=private)
        if verdict.verdict != "open":
            return verdict, 0
        judgements, tokens = list[Judgement](), 0
        for at in range(0, len(verdict.open), MAX_JUDGEMENTS):
            asked = verdict.open[at : at + MAX_JUDGEMENTS]
            answer = await self._deps.audit.ask(
                AuditForm, system=system(NODE), user=_brief(state, plan, asked)
            )
            judgements += [Judgement(**one.model_dump()) for one in answer.value.judgements]
            tokens += answer.tokens
        return judge(verdict, judgements), tokens

    def _refused(self, state: ResearchState, verdict: Verdict) -> dict[str, Any]:
        line = self._line(verdict)
        if state.get("difference"):
            return {"reasoning": [line], **_without_difference(state, verdict)}
        if state.get("edited"):
            return {"status": "awaiting_approval", "reasoning": [line]}
        count = int(state.get("plan_revision_count") or 0) + 1
        update = {"plan_revision_count": count, "status": "thinking", "reasoning": [line]}
        if count >= int(state.get("max_plan_revisions") or 1):
            why = "; ".join(result_of(verdict)["policy_violations"])
            update |= {"status": "failed", "error_message": CEILING.format(count=count, why=why)}
        return update

    def _line(self, verdict: Verdict) -> Any:
        against = "; ".join(result_of(verdict)["policy_violations"])
        is_judged = verdict.judgements or any(
            one.decided_by == "judgement" for one in verdict.violations
        )
        how = "by rule and judgement" if is_judged else "by rule"
        summary = f"{verdict.verdict} {how}" + (f": {against}" if against else "")
        return entry(self._deps.clock, NODE, summary)


def result_of(verdict: Verdict) -> dict[str, Any]:
    """A verdict for the state: as text and in detail."""
    return {
        "verdict": verdict.verdict,
        "policy_violations": [_in_words(one) for one in verdict.violations],
        "suggestions": [one.message for one in verdict.suggestions],
        "detail": verdict.plain(),
    }


def _in_words(violation: Violation) -> str:
    """A violation as text, which says where it is a judgement."""
    source = violation.rule
    if violation.decided_by == "judgement":
        source = f"the auditor's judgement on: {violation.question or violation.rule}"
    step = f", step {violation.step}" if violation.step else ""
    return f"{violation.message} ({source}{step})"


def _without_difference(state: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return to the approved plan, without asking about steps that the policy forbids."""
    approved = read_plan(state["approved_plan"])
    why = "; ".join(one.message for one in verdict.violations)
    denied = [{**one, "denied_by": "policy", "why": why} for one in state["difference"]]
    return {
        "status": "executing",
        "plan": with_outputs(approved, state.get("step_results") or {}),
        "plan_hash": approved.sha256,
        "difference": None,
        "human_approved": True,
        "denied": [*(state.get("denied") or []), *denied],
        "audit_result": state["approved_audit"],
    }


def _brief(state: Mapping[str, Any], plan: Plan, asked: Sequence[OpenQuestion]) -> str:
    steps = "\n".join(f"{one.id}: {one.tool} {one.input} ({one.rationale})" for one in plan.steps)
    return together(
        [
            fenced("question", state["user_query"]),
            fenced("plan", f"{plan.objective}\n{steps}"),
            *(fenced(_tag(one), one.question, id=one.rule) for one in asked),
        ]
    )


def _tag(question: OpenQuestion) -> str:
    return "sentence" if question.rule.startswith(PROSE) else "rule"
