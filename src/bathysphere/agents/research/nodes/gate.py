"""The gate: the person sees the plan with its audit and its hash, and has the last word.

The question is a `plan_approval`. `approve` is for exactly the plan of the hash; `edit` gives a
plan of the person's own, which is audited again; `reject` has a reason, which the thinker reads. A
plan that would grow during the run comes here too, with its `difference`.
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

from bathysphere.agents.research.parts import Parts, person_of, read_plan, shown
from bathysphere.agents.research.sealing import permit_of
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.policy.permission import Approval
from bathysphere.policy.plan import Plan

NODE = "hitl_gate"
TYPE = "plan_approval"
QUESTION = "May this plan be carried out?"
GROWS = "The plan should grow. May it?"
BREAKS = "Your plan breaks the policy. Change it, or reject it."
EDITED = "edited by the person, and the audit has nothing against it"

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class _Word(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StepEdit(_Word):
    """A step in the person's wording; what an earlier run of it gave is not read."""

    id: str
    tool: str
    input: str
    rationale: str = ""
    domains: list[str] = []
    calls: int = 1
    pages: int = 0
    depends_on: list[str] = []
    output: str | None = Field(default=None, exclude=True)


class PlanEdit(_Word):
    """A plan in the person's wording."""

    objective: str
    steps: list[StepEdit]
    estimated_token_budget: int = 0
    revision: int = 0

    @model_validator(mode="after")
    def _is_a_plan(self) -> Self:
        self.plan()
        return self

    def plan(self) -> Plan:
        """The plan; raises where the steps do not fit together."""
        return Plan.model_validate(self.model_dump())


class Edit(_Word):
    """Another plan."""

    type: Literal["edit"]
    plan: PlanEdit


class Reject(_Word):
    """No, and why."""

    type: Literal["reject"]
    reason: Reason


def answers(plan_hash: str, *, can_approve: bool) -> type[RootModel[Any]]:
    """What may be answered; an approval can only be of the plan that is shown."""
    words: Any = Edit | Reject
    if can_approve:
        named: Any = (Literal[plan_hash] | None, None)
        kind: Any = (Literal["approve"], ...)
        words = create_model("Approve", __base__=_Word, type=kind, plan_hash=named) | words
    return create_model(
        "PlanAnswer", __base__=RootModel[Annotated[words, Field(discriminator="type")]]
    )


class Gate:
    """Asks the person."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Ask, and do as they say."""
        plan = read_plan(state["plan"] or {})
        is_clean = (state.get("audit_result") or {}).get("verdict") == "approved"
        if is_clean and state.get("edited"):
            # What the person wrote themselves needs no second yes.
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
        said = self._said(state, "approve", plan, runtime, reason)
        update: dict[str, Any] = {
            "status": "executing",
            "human_approved": True,
            "edited": False,
            "difference": None,
            "approved_plan": plan.plain(),
            "approved_audit": state.get("audit_result"),
            "approvals": said,
            "reasoning": [self._line("The plan was approved.", plan)],
        }
        return {**update, "permit": self._parts.sealer.seal(permit_of({**state, **update}))}

    def _edited(
        self, state: ResearchState, wanted: Plan, plan: Plan, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        edited = wanted.model_copy(update={"revision": plan.revision + 1})
        update: dict[str, Any] = {
            "status": "auditing",
            "human_approved": False,
            "edited": True,
            "difference": None,
            "plan": shown(edited, state.get("step_results") or {}),
            "plan_hash": edited.sha256,
            "approvals": self._said(state, "edit", plan, runtime),
            "reasoning": [self._line("The person edited the plan; it is audited again.", edited)],
        }
        return {**update, "permit": self._parts.sealer.seal(permit_of({**state, **update}))}

    def _rejected(
        self, state: ResearchState, plan: Plan, runtime: Runtime[Any], reason: str
    ) -> dict[str, Any]:
        said = self._said(state, "reject", plan, runtime, reason)
        line = self._line(f"The person rejected it: {reason}", plan)
        difference = state.get("difference")
        if not difference:
            return {
                "status": "thinking",
                "human_approved": False,
                "edited": False,
                "feedback": reason,
                "plan_revision_count": 0,
                "approvals": said,
                "reasoning": [line],
            }
        # What was approved before still is; only the growth is off.
        approved = read_plan(state["approved_plan"] or {})
        said = [*said, self._approval("approve", approved, runtime, "as approved before")]
        denied = [{**one, "denied_by": "person", "why": reason} for one in difference]
        update: dict[str, Any] = {
            "status": "executing",
            "difference": None,
            "human_approved": True,
            "plan": shown(approved, state.get("step_results") or {}),
            "plan_hash": approved.sha256,
            "audit_result": state.get("approved_audit"),
            "denied": [*(state.get("denied") or []), *denied],
            "approvals": said,
            "reasoning": [line],
        }
        return {**update, "permit": self._parts.sealer.seal(permit_of({**state, **update}))}

    def _said(
        self,
        state: ResearchState,
        decision: Literal["approve", "edit", "reject"],
        plan: Plan,
        runtime: Runtime[Any],
        reason: str = "",
    ) -> list[dict[str, Any]]:
        grows = state.get("difference")
        said = self._approval(decision, plan, runtime, reason)
        if grows:
            said = {**said, "difference": {"steps": grows}}
        return [*(state.get("approvals") or []), said]

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
            at=self._parts.clock.now().isoformat(timespec="seconds"),
            reason=reason,
        ).plain()

    def _line(self, words: str, plan: Plan) -> Any:
        return entry(self._parts.clock, NODE, f"{words} (plan {plan.sha256[:16]})")


def question(state: Mapping[str, Any], plan: Plan, *, can_approve: bool) -> dict[str, Any]:
    """What the person is shown."""
    difference = state.get("difference")
    asks = GROWS if difference else QUESTION
    return {
        "type": TYPE,
        "question": asks if can_approve else BREAKS,
        "plan": plan.plain(),
        "plan_hash": plan.sha256,
        "audit_result": state.get("audit_result"),
        "difference": difference,
        "decisions": ["approve", "edit", "reject"] if can_approve else ["edit", "reject"],
    }
