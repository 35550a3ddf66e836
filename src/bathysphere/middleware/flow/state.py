"""State of the Flow layer.

`flow` is the ledger, a delta channel: checkpoints store additions only. A subagent gets its
parent's and returns its own, so it is an input of subagents, and not of the main agent, where
input comes from outside. `flow_calls` are the verdicts on the calls of the last model turn.
`flow_revoked` are the trusts in sources that the person took back: all that a client may write.
"""

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import OmitFromInput
from langgraph.channels.delta import DeltaChannel
from typing_extensions import TypedDict

from bathysphere.core.writers import ByClient, ByEngine
from bathysphere.flow.ledger import merge_writes

SNAPSHOT_EVERY = 50
"""Additions between full copies of the ledger."""


class Decided(TypedDict):
    """The verdict on a call, made once, when the model asked for it."""

    key: str
    """The key of the call in the ledger."""
    digest: str
    """The hash of tool and arguments."""
    free: bool


def newest(left: dict[str, Decided] | None, right: dict[str, Decided] | None) -> dict[str, Decided]:
    """The verdicts of the last turn only."""
    return left or {} if right is None else right


def join_revoked(left: dict[str, bool] | None, right: Any) -> dict[str, bool]:
    """Reducer: every trust that was ever taken back; nothing gives one."""
    new = right if isinstance(right, dict) else {}
    return {**(left or {}), **{str(key): True for key, taken in new.items() if taken is True}}


Entries = Annotated[
    ByEngine[dict[str, Any]], DeltaChannel(merge_writes, snapshot_frequency=SNAPSHOT_EVERY)
]
OwnEntries = Annotated[
    ByEngine[dict[str, Any]],
    OmitFromInput,
    DeltaChannel(merge_writes, snapshot_frequency=SNAPSHOT_EVERY),
]
Revoked = Annotated[ByClient[dict[str, bool]], join_revoked]
Calls = Annotated[ByEngine[dict[str, Decided]], OmitFromInput, newest]


class FlowState(AgentState[Any]):
    """State of a main agent."""

    run_id: NotRequired[ByEngine[str]]
    flow: NotRequired[OwnEntries]
    flow_calls: NotRequired[Calls]
    flow_revoked: NotRequired[Revoked]


class SubagentFlowState(AgentState[Any]):
    """State of a subagent."""

    run_id: NotRequired[ByEngine[str]]
    flow: NotRequired[Entries]
    flow_calls: NotRequired[Calls]
    flow_revoked: NotRequired[Revoked]
