"""Approvals: each tool call that needs approval waits for the person, independently of others.

LangChain's human-in-the-loop in `per_call` mode: each gated call is an interrupt of type
`tool_approval` with its `tool_call_id`; parallel calls that need no approval run immediately; an
invalid answer is rejected and can be corrected. Answers: approve, edit, reject with a reason,
respond.

In `batched` mode LangChain's own layer is used: all gated calls of a model's turn are one interrupt
(`action_requests`), answered by a list of `decisions`, and no call of the turn runs before. Front
ends written for LangChain's default expect that.

Order: outside Failures and Limits. No state.
"""

from collections.abc import Mapping
from typing import Literal

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware

Approval = bool | InterruptOnConfig
"""`True` allows every kind of answer; a config restricts them and when to ask."""

ApprovalMode = Literal["per_call", "batched"]
"""Whether each call is asked about on its own, or all calls of a turn together."""


class ApprovalsMiddleware(HumanInTheLoopMiddleware):
    """Asks the person before running the tools named in a spec."""

    # Batched mode's hook. Left in place it would be a graph step, and a checkpoint, per model call.
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(self, approvals: Mapping[str, Approval]) -> None:
        super().__init__(dict(approvals), interrupt_mode="per_call")

    @property
    def name(self) -> str:
        """The name of the LangChain layer that this one replaces."""
        return HumanInTheLoopMiddleware.__name__
