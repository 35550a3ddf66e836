"""Where the run goes next: pure functions of the state."""

from typing import Literal

from bathysphere.agents.research.state import ResearchState

AfterAudit = Literal["thinker", "hitl_gate", "tool_executor", "__end__"]
AfterGate = Literal["thinker", "auditor", "tool_executor"]
AfterExecution = Literal["tool_executor", "auditor", "synthesizer"]


def route_after_audit(state: ResearchState) -> AfterAudit:
    """To the gate when there is something to decide; back to the thinker, up to the ceiling."""
    if state["status"] == "failed":
        return "__end__"
    if state["status"] == "executing":
        return "tool_executor"
    verdict = (state.get("audit_result") or {}).get("verdict")
    if verdict == "approved" or state.get("edited"):
        return "hitl_gate"
    return "thinker"


def route_after_gate(state: ResearchState) -> AfterGate:
    """As the person said."""
    if state["status"] == "thinking":
        return "thinker"
    return "auditor" if state["status"] == "auditing" else "tool_executor"


def route_after_execution(state: ResearchState) -> AfterExecution:
    """Again while there are steps; to the auditor when the plan should grow; then to the report."""
    if state["status"] == "auditing":
        return "auditor"
    return "synthesizer" if state["status"] == "synthesizing" else "tool_executor"
