"""Permissions from approved plans, checked before each tool call.

A call that the approved plan names is granted and counted. Anything else is returned as a
`Difference`, which a person can approve (as steps of a plan that is audited again) unless the
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
"""Reasons that no approval can override: the policy forbids the call."""

Decision = Literal["approve", "edit", "reject"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NotApproved(NotAllowed):
    """The plan was not approved."""

    code = "plan_not_approved"


class Approval(_Data):
    """A person's decision on a plan."""

    decision: Decision
    plan_sha256: str
    by: str
    at: str
    reason: str = ""
    difference: dict[str, Any] | None = None
    """The difference that led to this plan, if any."""

    def plain(self) -> dict[str, Any]:
        """Return the approval as JSON data."""
        return self.model_dump(mode="json")


class Call(_Data):
    """A tool call for a step, with a query or URL as input."""

    step: str
    tool: str
    input: str


class Grant(_Data):
    """The call is allowed; `left` more like it are planned."""

    call: Call
    left: int


class Difference(_Data):
    """A call that the plan does not include."""

    call: Call
    reason: Reason
    message: str
    plan_sha256: str
    can_be_approved: bool = True

    def plain(self) -> dict[str, Any]:
        """Return the difference as JSON data."""
        return self.model_dump(mode="json")


class Used(BaseModel):
    """Usage of a permission; plain data, so that it survives a crash with the run."""

    model_config = ConfigDict(extra="forbid")

    calls: dict[str, int] = Field(default_factory=dict)
    pages: dict[str, int] = Field(default_factory=dict)
    found: dict[str, list[str]] = Field(default_factory=dict)


class Permission:
    """The calls that an approved plan allows, and how many are left."""

    def __init__(self, plan: Plan, policy: Policy, used: Used | None = None) -> None:
        self.plan = plan
        self.policy = policy
        self.used = used or Used()
        self._sha256 = plan.sha256

    def ask(self, call: Call) -> Grant | Difference:
        """Check whether a call may be made now; a grant counts as a call."""
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
        """Record the URLs that a step's search found; only these pages may be opened in it."""
        known = self.used.found.setdefault(step_id, [])
        known += [address for address in addresses if address not in known]

    def may_visit(self, step_id: str, address: str) -> Difference | None:
        """Check whether a step may follow a redirect to a URL; nothing is counted."""
        call = Call(step=step_id, tool=FETCH_PAGE, input=address)
        step = self.plan.step(step_id)
        if step is None:
            return self._differs(call, "unknown_step", f"the plan has no step {step_id}")
        patterns = list(step.domains)
        if step.tool == FETCH_PAGE and (host := host_of(step.input)):
            patterns.append(host.removeprefix("www."))
        return self._place(call, patterns)

    def left(self, step_id: str) -> dict[str, int]:
        """Return how many calls and pages of a step are left."""
        step = self.plan.step(step_id)
        if step is None:
            return {"calls": 0, "pages": 0}
        return {
            "calls": step.calls - self.used.calls.get(step_id, 0),
            "pages": step.pages - self.used.pages.get(step_id, 0),
        }

    def _own_call(self, call: Call, step: Step) -> Difference | None:
        if " ".join(call.input.split()) != " ".join(step.input.split()):
            return self._differs(call, "input", f"step {step.id} has a different input")
        if call.tool == FETCH_PAGE and (refused := self.may_visit(step.id, call.input)):
            return refused
        if self.left(step.id)["calls"] < 1:
            return self._differs(call, "calls", f"all {step.calls} calls are used")
        return self._within_policy(call)

    def _page(self, call: Call, step: Step) -> Difference | None:
        if refused := self._place(call, step.domains):
            return refused
        if call.input not in self.used.found.get(step.id, []):
            message = "no search of this step found this URL"
            return self._differs(call, "not_found_by_search", message)
        if self.left(step.id)["pages"] < 1:
            return self._differs(call, "pages", f"all {step.pages} pages are used")
        return self._within_policy(call)

    def _place(self, call: Call, patterns: Iterable[str]) -> Difference | None:
        host = host_of(call.input)
        if host is None:
            return self._differs(call, "address", "not the URL of a public page")
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
            message = "the policy's request limit is used up"
            return self._differs(call, "policy_requests", message)
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
    """Return the permission for a plan, given the decisions of a run.

    Raises:
        NotApproved: The last decision is not an approval of exactly this plan.
    """
    last = next(reversed(list(approvals)), None)
    if last is None or last.decision != "approve" or last.plan_sha256 != plan.sha256:
        raise NotApproved("The plan was not approved", hint="approve the plan before running it")
    return Permission(plan, policy, used)
