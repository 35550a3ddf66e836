"""The gate: asks the person to approve, edit or reject the plan.

The interrupt is a `plan_approval`. `approve` confirms exactly the plan with the given hash; `edit`
supplies another plan, which is audited; `reject` has a reason, which the thinker reads. Steps added
during the run are also approved here, as a `difference`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    create_model,
    model_validator,
)

from bathysphere.agents.research.dependencies import Dependencies, person_of, thread_of
from bathysphere.agents.research.follow_up import done_steps, is_extension
from bathysphere.agents.research.plan_seal import permit_of
from bathysphere.agents.research.plan_state import read_plan, with_outputs
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.core.ids import new_id
from bathysphere.policy.permission import Approval
from bathysphere.policy.plan import Plan

NODE = "hitl_gate"
TYPE = "plan_approval"
QUESTION = "Start with this plan?"
EXTENDS = "Extend the research with these steps?"
GROWS = "Add these steps to the plan?"
BREAKS = "Your plan violates the policy. Edit or reject it."
EDITED = "edited by the person; the audit approved it"

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class _Decision(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StepEdit(_Decision):
    """A step edited by the person; its earlier output is ignored."""

    id: str
    tool: str
    input: str
    rationale: str = ""
    domains: list[str] = []
    calls: int = 1
    pages: int = 0
    depends_on: list[str] = []
    output: str | None = Field(default=None, exclude=True)


class PlanEdit(_Decision):
    """A plan edited by the person."""

    objective: str
    steps: list[StepEdit]
    estimated_token_budget: int = 0
    revision: int = 0

    @model_validator(mode="after")
    def _check_plan(self) -> Self:
        self.plan()
        return self

    def plan(self) -> Plan:
        """Convert to a plan; raises if the steps are inconsistent."""
        return Plan.model_validate(self.model_dump())


class Edit(_Decision):
    """Replace the plan."""

    type: Literal["edit"]
    plan: PlanEdit


class Reject(_Decision):
    """Reject the plan, with a reason."""

    type: Literal["reject"]
    reason: Reason


def answers(plan_hash: str, *, can_approve: bool) -> type[RootModel[Any]]:
    """The response schema; an approval must be for the plan that is shown."""
    decisions: Any = Edit | Reject
    if can_approve:
        named: Any = (Literal[plan_hash] | None, None)
        kind: Any = (Literal["approve"], ...)
        decisions = (
            create_model("Approve", __base__=_Decision, type=kind, plan_hash=named) | decisions
        )
    return create_model(
        "PlanAnswer", __base__=RootModel[Annotated[decisions, Field(discriminator="type")]]
    )


class Gate:
    """Asks the person to decide on a plan."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Ask for a decision and apply it."""
        plan = read_plan(state["plan"] or {})
        is_clean = (state.get("audit_result") or {}).get("verdict") == "approved"
        if is_clean and state.get("edited"):
            # A plan that the person edited themselves needs no further approval.
            return self._approved(state, plan, runtime, reason=EDITED)
        answer: Any = interrupt(
            question(state, plan, can_approve=is_clean),
            response_schema=answers(plan.sha256, can_approve=is_clean),
        ).root
        if isinstance(answer, Edit):
            return self._edited(state, answer.plan.plan(), plan, runtime)
        if isinstance(answer, Reject):
            return self._rejected(state, plan, runtime, answer.reason)
        return self._approved(state, plan, runtime)

    def _approved(
        self, state: ResearchState, plan: Plan, runtime: Runtime[Any], *, reason: str = ""
    ) -> dict[str, Any]:
        approvals = self._with_decision(state, "approve", plan, runtime, reason)
        update: dict[str, Any] = {
            "status": "executing",
            "human_approved": True,
            "edited": False,
            "difference": None,
            "approved_plan": plan.plain(),
            "approved_audit": state.get("audit_result"),
            "approvals": approvals,
            "grant": new_id("grant"),
            "reasoning": [self._line("The plan was approved.", plan)],
        }
        return self._permitted(state, update, runtime)

    def _edited(
        self, state: ResearchState, edit: Plan, plan: Plan, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        edited = _with_done(edit, state).model_copy(update={"revision": plan.revision + 1})
        update: dict[str, Any] = {
            "status": "auditing",
            "human_approved": False,
            "edited": True,
            "difference": None,
            "plan": with_outputs(edited, state.get("step_results") or {}),
            "plan_hash": edited.sha256,
            "approvals": self._with_decision(state, "edit", plan, runtime),
            "reasoning": [
                self._line("The person edited the plan; it will be audited again.", edited)
            ],
        }
        return self._permitted(state, update, runtime)

    def _rejected(
        self, state: ResearchState, plan: Plan, runtime: Runtime[Any], reason: str
    ) -> dict[str, Any]:
        approvals = self._with_decision(state, "reject", plan, runtime, reason)
        line = self._line(f"The person rejected the plan: {reason}", plan)
        difference = state.get("difference")
        if not difference:
            refused: dict[str, Any] = {
                "status": "thinking",
                "human_approved": False,
                "edited": False,
                "feedback": reason,
                "plan_revision_count": 0,
                "approvals": approvals,
                "reasoning": [line],
            }
            return self._permitted(state, refused, runtime)
        # The earlier approval remains valid; only the additional steps are rejected.
        approved = read_plan(state["approved_plan"] or {})
        approvals = [*approvals, self._approval("approve", approved, runtime, "approved earlier")]
        denied = [{**one, "denied_by": "person", "why": reason} for one in difference]
        update: dict[str, Any] = {
            "status": "executing",
            "difference": None,
            "human_approved": True,
            "plan": with_outputs(approved, state.get("step_results") or {}),
            "plan_hash": approved.sha256,
            "audit_result": state.get("approved_audit"),
            "denied": [*(state.get("denied") or []), *denied],
            "approvals": approvals,
            "reasoning": [line],
        }
        return self._permitted(state, update, runtime)

    def _permitted(
        self, state: ResearchState, update: dict[str, Any], runtime: Runtime[Any]
    ) -> dict[str, Any]:
        """Add the permit for all approvals so far to an update."""
        known = {**state, **update}
        return {**update, "permit": permit_of(self._deps.sealer, known, thread_of(runtime))}

    def _with_decision(
        self,
        state: ResearchState,
        decision: Literal["approve", "edit", "reject"],
        plan: Plan,
        runtime: Runtime[Any],
        reason: str = "",
    ) -> list[dict[str, Any]]:
        added_steps = state.get("difference")
        approval = self._approval(decision, plan, runtime, reason)
        if added_steps:
            approval = {**approval, "difference": {"steps": added_steps}}
        return [*(state.get("approvals") or []), approval]

    def _approval(
        self,
        decision: Literal["approve", "edit", "reject"],
        plan: Plan,
        runtime: Runtime[Any],
        reason: str,
    ) -> dict[str, Any]:
        return Approval(
            decision=decision,
            plan_sha256=plan.sha256,
            by=person_of(runtime),
            at=self._deps.clock.now().isoformat(timespec="seconds"),
            reason=reason,
        ).plain()

    def _line(self, words: str, plan: Plan) -> Any:
        return entry(self._deps.clock, NODE, f"{words} (plan {plan.sha256[:16]})")


def _with_done(edit: Plan, state: ResearchState) -> Plan:
    """The edited plan with the steps that an earlier run carried out, whose sources are kept."""
    done = done_steps(state)
    names = {step.id for step in done}
    steps = [*done, *(step for step in edit.steps if step.id not in names)]
    return edit.model_validate(edit.model_dump() | {"steps": steps})


def question(state: Mapping[str, Any], plan: Plan, *, can_approve: bool) -> dict[str, Any]:
    """The interrupt value shown to the person."""
    difference = state.get("difference")
    asks = GROWS if difference else EXTENDS if is_extension(state) else QUESTION
    return {
        "type": TYPE,
        "question": asks if can_approve else BREAKS,
        "plan": plan.plain(),
        "plan_hash": plan.sha256,
        "audit_result": state.get("audit_result"),
        "difference": difference,
        "done": [step.id for step in done_steps(state)],
        "follow_up": state.get("follow_up"),
        "decisions": ["approve", "edit", "reject"] if can_approve else ["edit", "reject"],
    }
