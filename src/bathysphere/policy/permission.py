"""The plan is the permission: what the tool layer asks before each call.

A call that the approved plan names is granted and counted. Anything else comes back as a
`Difference`, which a person can approve (it amends the plan, which is audited again) unless the
policy itself forbids it.
"""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bathysphere.core.errors import NotAllowed
from bathysphere.policy.domains import any_covers, host_of
from bathysphere.policy.plan import FETCH_PAGE, NETWORK, Plan, Step
from bathysphere.policy.rules import Policy

Reason = Literal[
    "unknown_step",
    "tool",
    "input",
    "address",
    "domain",
    "denied_domain",
    "forbidden_tool",
    "not_found_by_search",
    "calls",
    "pages",
    "policy_requests",
]
_FINAL: frozenset[Reason] = frozenset(
    {"address", "denied_domain", "forbidden_tool", "policy_requests"}
)
"""What no approval can allow: the policy forbids it."""

Decision = Literal["approve", "edit", "reject"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NotApproved(NotAllowed):
    """A plan that nobody approved gives no permission."""

    code = "plan_not_approved"


class Approval(_Data):
    """What a person said of a plan: which one, who, when, and why."""

    decision: Decision
    plan_sha256: str
    by: str
    at: str
    reason: str = ""
    difference: dict[str, Any] | None = None
    """The difference that led to this plan, where one did."""

    def plain(self) -> dict[str, Any]:
        """The approval as JSON data."""
        return self.model_dump(mode="json")


class Call(_Data):
    """What the tool layer is about to do: for a step, with a tool, a query or an address."""

    step: str
    tool: str
    input: str


class Grant(_Data):
    """Go ahead; `left` more like it are planned."""

    call: Call
    left: int


class Difference(_Data):
    """What a call would do that the plan does not say."""

    call: Call
    reason: Reason
    message: str
    plan_sha256: str
    can_be_approved: bool = True

    def amended(self, plan: Plan) -> Plan:
        """The plan with what this call needs, to be audited and approved anew.

        Raises:
            NotAllowed: the policy forbids it, or it was asked of another plan.
        """
        if not self.can_be_approved or self.plan_sha256 != plan.sha256:
            raise NotAllowed(f"this cannot be approved: {self.message}")
        step = plan.step(self.call.step)
        steps = list(plan.steps)
        if step is None or self.reason in ("tool", "input", "not_found_by_search"):
            steps.append(_new_step(plan, self.call))
        else:
            steps[steps.index(step)] = _widened(step, self)
        return Plan.model_validate(
            plan.model_dump() | {"steps": steps, "revision": plan.revision + 1}
        )

    def plain(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return self.model_dump(mode="json")


class Used(BaseModel):
    """What has been used of a permission; plain data, so that it survives a crash with the run."""

    model_config = ConfigDict(extra="forbid")

    calls: dict[str, int] = Field(default_factory=dict)
    pages: dict[str, int] = Field(default_factory=dict)
    found: dict[str, list[str]] = Field(default_factory=dict)


class Permission:
    """What an approved plan allows, and how much of it is left."""

    def __init__(self, plan: Plan, policy: Policy, used: Used | None = None) -> None:
        self.plan = plan
        self.policy = policy
        self.used = used or Used()
        self._sha256 = plan.sha256

    def ask(self, call: Call) -> Grant | Difference:
        """Whether a call may be made now; a grant counts as one made."""
        step = self.plan.step(call.step)
        if call.tool not in self.policy.tools.allowed:
            return self._differs(call, "forbidden_tool", f"the policy forbids {call.tool}")
        if step is None:
            return self._differs(call, "unknown_step", f"the plan has no step {call.step}")
        if call.tool == step.tool:
            refused = self._own_call(call, step)
        elif call.tool == FETCH_PAGE and step.pages:
            refused = self._page(call, step)
        else:
            message = f"step {step.id} uses {step.tool}, not {call.tool}"
            refused = self._differs(call, "tool", message)
        return refused or self._count(call, step)

    def found(self, step_id: str, addresses: Iterable[str]) -> None:
        """Tell which addresses a search of a step gave; only such pages may be opened in it."""
        known = self.used.found.setdefault(step_id, [])
        known += [address for address in addresses if address not in known]

    def may_visit(self, step_id: str, address: str) -> Difference | None:
        """Whether a redirect may lead a step to an address; nothing is counted."""
        call = Call(step=step_id, tool=FETCH_PAGE, input=address)
        step = self.plan.step(step_id)
        if step is None:
            return self._differs(call, "unknown_step", f"the plan has no step {step_id}")
        patterns = list(step.domains)
        if step.tool == FETCH_PAGE and (host := host_of(step.input)):
            patterns.append(host.removeprefix("www."))
        return self._place(call, patterns)

    def left(self, step_id: str) -> dict[str, int]:
        """How many calls and pages of a step are left."""
        step = self.plan.step(step_id)
        if step is None:
            return {"calls": 0, "pages": 0}
        return {
            "calls": step.calls - self.used.calls.get(step_id, 0),
            "pages": step.pages - self.used.pages.get(step_id, 0),
        }

    def _own_call(self, call: Call, step: Step) -> Difference | None:
        if " ".join(call.input.split()) != " ".join(step.input.split()):
            return self._differs(call, "input", f"step {step.id} does not say this input")
        if call.tool == FETCH_PAGE and (refused := self.may_visit(step.id, call.input)):
            return refused
        if self.left(step.id)["calls"] < 1:
            return self._differs(call, "calls", f"all {step.calls} calls are used")
        return self._within_policy(call)

    def _page(self, call: Call, step: Step) -> Difference | None:
        if refused := self._place(call, step.domains):
            return refused
        if call.input not in self.used.found.get(step.id, []):
            message = "no search of this step found this address"
            return self._differs(call, "not_found_by_search", message)
        if self.left(step.id)["pages"] < 1:
            return self._differs(call, "pages", f"all {step.pages} pages are used")
        return self._within_policy(call)

    def _place(self, call: Call, patterns: Iterable[str]) -> Difference | None:
        host = host_of(call.input)
        if host is None:
            return self._differs(call, "address", "this is no address of a public page")
        rules = self.policy.domains
        if any_covers(rules.denied, host) or (
            rules.allowed and not any_covers(rules.allowed, host)
        ):
            return self._differs(call, "denied_domain", f"the policy forbids {host}")
        if not any_covers(patterns, host):
            return self._differs(call, "domain", f"step {call.step} does not name {host}")
        return None

    def _within_policy(self, call: Call) -> Difference | None:
        own = (self.used.calls.get(step.id, 0) for step in self.plan.steps if step.tool in NETWORK)
        made = sum(own) + sum(self.used.pages.values())
        if call.tool in NETWORK and made >= self.policy.limits.requests:
            return self._differs(call, "policy_requests", "all requests of the policy are used")
        return None

    def _count(self, call: Call, step: Step) -> Grant:
        is_own = call.tool == step.tool
        counts = self.used.calls if is_own else self.used.pages
        counts[step.id] = counts.get(step.id, 0) + 1
        return Grant(call=call, left=self.left(step.id)["calls" if is_own else "pages"])

    def _differs(self, call: Call, reason: Reason, message: str) -> Difference:
        return Difference(
            call=call,
            reason=reason,
            message=message,
            plan_sha256=self._sha256,
            can_be_approved=reason not in _FINAL,
        )


def permit(
    plan: Plan, approvals: Iterable[Approval], policy: Policy, used: Used | None = None
) -> Permission:
    """The permission that the approvals of a run give for a plan.

    Raises:
        NotApproved: the last word on it is not an approval of exactly this plan.
    """
    said = list(approvals)
    if not said or said[-1].decision != "approve" or said[-1].plan_sha256 != plan.sha256:
        raise NotApproved("this plan was not approved", hint="only an approved plan can run")
    return Permission(plan, policy, used)


def _new_step(plan: Plan, call: Call) -> Step:
    taken = {step.id for step in plan.steps}
    name = next(f"added-{n}" for n in range(1, len(taken) + 2) if f"added-{n}" not in taken)
    return Step(id=name, tool=call.tool, input=call.input, rationale="asked for during the run")


def _widened(step: Step, difference: Difference) -> Step:
    change: dict[str, Any] = {}
    if difference.reason == "calls":
        change["calls"] = step.calls + 1
    elif difference.reason == "pages":
        change["pages"] = step.pages + 1
    else:
        change["domains"] = (*step.domains, host_of(difference.call.input))
    return Step.model_validate(step.model_dump() | change)
