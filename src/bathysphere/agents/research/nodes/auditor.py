"""The auditor: checks a plan against POLICY.md's rules, then asks a model about open questions.

A rejected plan returns to the thinker, a limited number of times; a rejected edit returns to the
person; rejected additional steps are dropped, and the approved plan continues.
"""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.dependencies import Dependencies, spend
from bathysphere.agents.research.forms import AuditForm
from bathysphere.agents.research.plan_state import read_plan, with_outputs
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.policy.audit import Judgement, Verdict, audit, judge
from bathysphere.policy.plan import Plan

NODE = "auditor"
CEILING = "The plan was rejected {count} times, the maximum. Last reason: {why}"


class Auditor:
    """Checks plans against the policy."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Audit the current plan."""
        del runtime
        plan = read_plan(state["plan"] or {})
        verdict, tokens = await self._verdict(state, plan)
        update = {
            "plan_hash": plan.sha256,
            "audit_result": result_of(verdict),
            "audits": [*(state.get("audits") or []), verdict.plain()],
            **spend(self._deps, state, tokens),
        }
        if verdict.verdict == "approved":
            return {**update, "status": "awaiting_approval", "reasoning": [self._line(verdict)]}
        return {**update, **self._refused(state, verdict)}

    async def _verdict(self, state: ResearchState, plan: Plan) -> tuple[Verdict, int]:
        attached = state.get("knowledge_context") or ""
        verdict = audit(
            plan,
            self._deps.policy,
            question=state["user_query"],
            private=[attached] if attached.strip() else [],
        )
        if verdict.verdict != "open":
            return verdict, 0
        answer = await self._deps.audit.ask(
            AuditForm, system=system(NODE), user=_brief(state, plan, verdict)
        )
        answers = [Judgement(**one.model_dump()) for one in answer.value.judgements]
        return judge(verdict, answers), answer.tokens

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
        how = "by rule" if not verdict.judgements else "by rule and judgement"
        summary = f"{verdict.verdict} {how}" + (f": {against}" if against else "")
        return entry(self._deps.clock, NODE, summary)


def result_of(verdict: Verdict) -> dict[str, Any]:
    """A verdict for the state: as text and in detail."""
    return {
        "verdict": verdict.verdict,
        "policy_violations": [
            f"{one.message} ({one.rule}{f', step {one.step}' if one.step else ''})"
            for one in verdict.violations
        ],
        "suggestions": [one.message for one in verdict.suggestions],
        "detail": verdict.plain(),
    }


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


def _brief(state: Mapping[str, Any], plan: Plan, verdict: Verdict) -> str:
    steps = "\n".join(f"{one.id}: {one.tool} {one.input} ({one.rationale})" for one in plan.steps)
    rules = [fenced("rule", one.question, id=one.rule) for one in verdict.open]
    return together(
        [
            fenced("question", state["user_query"]),
            fenced("plan", f"{plan.objective}\n{steps}"),
            *rules,
        ]
    )
