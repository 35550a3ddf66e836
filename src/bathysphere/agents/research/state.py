"""The state of a research run: plain data, so that checkpoints hold nothing but JSON.

`reasoning` is appended to and keeps its newest entries; every other field is replaced by what a
node returns. Sources are kept in the store; the state has what is known of them, not their bytes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

Status = Literal[
    "started",
    "thinking",
    "auditing",
    "awaiting_approval",
    "executing",
    "synthesizing",
    "complete",
    "failed",
]
"""Where a run is. `complete` and `failed` are its ends."""
Node = Literal["thinker", "auditor", "hitl_gate", "tool_executor", "synthesizer"]

MAX_REASONING_ENTRIES = 20
MAX_PLAN_REVISIONS = 3
"""How often a plan may be refused by the audit before the run ends, unless the input says so."""


class ReasoningEntry(TypedDict, total=False):
    """One line of the trace that a person reads."""

    node: str
    timestamp: str
    summary: str
    raw_thought: str


def append_reasoning(
    known: Sequence[ReasoningEntry] | None, new: Sequence[ReasoningEntry] | None
) -> list[ReasoningEntry]:
    """The trace with new entries at its end, the oldest gone where there are too many."""
    return [*(known or ()), *(new or ())][-MAX_REASONING_ENTRIES:]


class ResearchInput(TypedDict, total=False):
    """What a run is started with: a question, and what the person brings along."""

    user_query: str
    messages: Annotated[list[AnyMessage], add_messages]
    """Instead of `user_query`, for clients that talk: the last thing the person said."""
    knowledge_context: str
    """Passages of the person's own documents, chosen in their browser."""
    context_urls: list[str]
    """Addresses that the person wants looked at."""
    max_plan_revisions: int


class ResearchState(ResearchInput, total=False):
    """Everything a run knows."""

    thread_id: str
    status: Status
    reasoning: Annotated[list[ReasoningEntry], append_reasoning]
    error_message: str | None

    plan: dict[str, Any] | None
    plan_hash: str | None
    """The hash of `plan`: what an approval is for."""
    audit_result: dict[str, Any] | None
    audits: list[dict[str, Any]]
    """Every verdict of the run, in order: `bathysphere.policy.audit.Verdict`."""
    plan_revision_count: int
    human_approved: bool
    feedback: str | None
    """Why the person rejected the last plan."""
    edited: bool
    """Whether `plan` is the person's own wording, not yet audited."""
    difference: list[dict[str, Any]] | None
    """What was asked for beyond the approved plan, waiting for the person's word."""
    approved_plan: dict[str, Any] | None
    """The plan that is the permission, while `plan` may already be a wider one."""
    approved_audit: dict[str, Any] | None
    """The audit of the approved plan."""
    approvals: list[dict[str, Any]]
    """What the person said, in order: `bathysphere.policy.permission.Approval`."""
    permit: str | None
    """The seal under what the person said, which no client can make."""

    step_results: dict[str, dict[str, Any]]
    """Step id → what it gave."""
    used: dict[str, Any]
    """What was used of the permission: `bathysphere.policy.permission.Used`."""
    denied: list[dict[str, Any]]
    """Calls that were asked for and not made, and why."""
    rounds: int
    """How often the model was asked whether it needs more."""
    sources: list[dict[str, Any]]
    """What is known of each snapshot."""
    tokens_used: int

    report: dict[str, Any] | None
    """The checked report: claims, quotes with offsets, contradictions, what was dropped and why."""
    final_report: str | None
    """The report as Markdown."""
    finished_at: str | None
    seal: str | None
    """The seal under all that a proof carries."""
