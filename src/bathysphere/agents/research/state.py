"""The state of a research run, as plain JSON data.

`reasoning` is appended to and keeps its newest entries; every other field is replaced. Sources are
kept in the store; the state has their metadata, not their bytes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from bathysphere.core.writers import ByClient, ByEngine

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
"""Status of a run; `complete` and `failed` are final."""
Node = Literal[
    "router", "thinker", "auditor", "hitl_gate", "tool_executor", "synthesizer", "answerer"
]

MAX_REASONING_ENTRIES = 20
MAX_PLAN_REVISIONS = 3
"""Default number of plans that the audit may reject before the run fails."""


class ReasoningEntry(TypedDict, total=False):
    """One line of the trace that a person reads."""

    node: str
    timestamp: str
    summary: str
    raw_thought: str


def append_reasoning(
    known: Sequence[ReasoningEntry] | None, new: Sequence[ReasoningEntry] | None
) -> list[ReasoningEntry]:
    """Append to the trace, dropping the oldest entries beyond the maximum."""
    return [*(known or ()), *(new or ())][-MAX_REASONING_ENTRIES:]


class ResearchInput(TypedDict, total=False):
    """Input of a run: a question and attachments."""

    user_query: ByClient[str]
    messages: Annotated[ByClient[list[AnyMessage]], add_messages]
    """Alternative to `user_query` for chat clients: the last human message is the question."""
    documents: ByClient[list[dict[str, Any]]]
    """Passages of the person's documents, chosen on their device: `attachments.DocumentPassage`."""
    knowledge_context: ByClient[str]
    """Any other text that the person attached."""
    context_urls: ByClient[list[str]]
    """URLs that the person wants to be read."""
    max_plan_revisions: ByClient[int]


class ResearchState(ResearchInput, total=False):
    """Full state of a run."""

    thread_id: ByEngine[str]
    status: ByEngine[Status]
    reasoning: Annotated[ByEngine[list[ReasoningEntry]], append_reasoning]
    error_message: ByEngine[str | None]

    history: ByEngine[dict[str, Any] | None]
    """Earlier questions and reports, with a seal of its own: `history.History`."""
    follow_up: ByEngine[dict[str, Any] | None]
    """How a message on a thread with a report was understood: its kind, and why."""
    answer: ByEngine[dict[str, Any] | None]
    """The checked answer to a follow-up from the sources already read."""

    plan: ByEngine[dict[str, Any] | None]
    plan_hash: ByEngine[str | None]
    """The hash of `plan`, which an approval confirms."""
    audit_result: ByEngine[dict[str, Any] | None]
    audits: ByEngine[list[dict[str, Any]]]
    """All verdicts of the run, in order: `bathysphere.policy.audit.Verdict`."""
    plan_revision_count: ByEngine[int]
    human_approved: ByEngine[bool]
    feedback: ByEngine[str | None]
    """Why the person rejected the last plan."""
    edited: ByEngine[bool]
    """Whether `plan` was edited by the person."""
    difference: ByEngine[list[dict[str, Any]] | None]
    """Steps requested beyond the approved plan, pending approval."""
    approved_plan: ByEngine[dict[str, Any] | None]
    """The plan in force, while `plan` may already contain additional steps."""
    approved_audit: ByEngine[dict[str, Any] | None]
    """The audit of the approved plan."""
    approvals: ByEngine[list[dict[str, Any]]]
    """The person's decisions, in order: `bathysphere.policy.permission.Approval`."""
    permit: ByEngine[str | None]
    """The chained seal of the approvals, which clients cannot forge."""
    grant: ByEngine[str | None]
    """Id of the approval that calls are made under; no call is repeated under it."""

    step_results: ByEngine[dict[str, dict[str, Any]]]
    """Step id → result."""
    used: ByEngine[dict[str, Any]]
    """Usage of the permission: `bathysphere.policy.permission.Used`."""
    denied: ByEngine[list[dict[str, Any]]]
    """Requested calls that were denied, with reasons."""
    rounds: ByEngine[int]
    """How often the model was asked for further calls."""
    sources: ByEngine[list[dict[str, Any]]]
    """Metadata of each snapshot."""
    tokens_used: ByEngine[int]

    report: ByEngine[dict[str, Any] | None]
    """The checked report: claims, quotes with offsets, contradictions, dropped claims."""
    final_report: ByEngine[str | None]
    """The report as Markdown."""
    finished_at: ByEngine[str | None]
    seal: ByEngine[str | None]
    """The seal of the report and the contents of its proof."""
    step_seal: ByEngine[dict[str, Any] | None]
    """The seal of the state after the last step (`steps.StepSeal`)."""
