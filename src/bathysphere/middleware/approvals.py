"""Approvals: a tool call that needs the person's word waits for it, alone.

LangChain's human-in-the-loop in its `per_call` mode: each gated call is an interrupt of type
`tool_approval` with its `tool_call_id`; calls beside it that need no approval run at once; a bad
answer is refused and can be given again. Answers: approve, edit, reject with a reason, respond.

Order: outside Failures and Limits. No state of its own.
"""

from collections.abc import Mapping

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware

Approval = bool | InterruptOnConfig
"""`True` allows every kind of answer; a config says which, and when to ask at all."""


class ApprovalsMiddleware(HumanInTheLoopMiddleware):
    """Asks the person before the tools that a specification names."""

    # Batched mode's hook. Left in place it would be a graph step, and a checkpoint, per model call.
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(self, approvals: Mapping[str, Approval]) -> None:
        super().__init__(dict(approvals), interrupt_mode="per_call")

    @property
    def name(self) -> str:
        """The name of the LangChain layer that this one is."""
        return HumanInTheLoopMiddleware.__name__
