"""Routing between nodes: pure functions of the state."""

from typing import Literal

from bathysphere.agents.research.state import ResearchState

AfterRouting = Literal["thinker", "answerer"]
AfterAudit = Literal["thinker", "hitl_gate", "tool_executor", "__end__"]
AfterGate = Literal["thinker", "auditor", "tool_executor", "__end__"]
AfterExecution = Literal["tool_executor", "auditor", "synthesizer"]


def route_after_routing(state: ResearchState) -> AfterRouting:
    """To the answerer if the sources already read suffice; otherwise a plan is needed."""
    return "answerer" if (state.get("follow_up") or {}).get("kind") == "answer" else "thinker"


def route_after_audit(state: ResearchState) -> AfterAudit:
    """To the gate if the plan can be decided on; otherwise back to the thinker."""
    if state["status"] == "failed":
        return "__end__"
    if state["status"] == "executing":
        return "tool_executor"
    verdict = (state.get("audit_result") or {}).get("verdict")
    if verdict == "approved" or state.get("edited"):
        return "hitl_gate"
    return "thinker"


def route_after_gate(state: ResearchState) -> AfterGate:
    """According to the person's decision; to the end if the state was modified."""
    if state["status"] == "failed":
        return "__end__"
    if state["status"] == "thinking":
        return "thinker"
    return "auditor" if state["status"] == "auditing" else "tool_executor"


def route_after_execution(state: ResearchState) -> AfterExecution:
    """Repeat while steps remain; to the auditor if steps were added; then to the synthesizer."""
    if state["status"] == "auditing":
        return "auditor"
    return "synthesizer" if state["status"] == "synthesizing" else "tool_executor"
