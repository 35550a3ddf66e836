"""Private names of LangGraph, LangChain and deepagents, to be checked at every upgrade.

Every other module imports them from here; an architecture test forbids private imports elsewhere.
Couplings that are not imports (the slots below, private methods that our subclasses override) are
checked against the installed versions by `tests/contract/test_upstream.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

# The reducer of deepagents' message channel; ours adds a shortcut for appending.
from deepagents._messages_reducer import _messages_delta_reducer as merge_message_writes

# Classifies a file as text or binary, like deepagents' own backends.
from deepagents.backends.utils import _get_backend_read_file_type as file_type_of

# Derives approvals from permissions whose mode is "ask".
from deepagents.middleware._fs_interrupt import (
    _build_interrupt_on_from_permissions as approvals_from_permissions,
)

# Which providers' prompt caching layers exist depends on what is installed.
from deepagents.middleware._prompt_caching import append_prompt_caching_middleware

# The schema of answers to a question about a call, and the result in its place.
from langchain.agents.middleware.human_in_the_loop import _answer_message as answer_message
from langchain.agents.middleware.human_in_the_loop import _decision_schema as decision_schema

# Infers a model's provider; the public function also builds the model, without our settings.
from langchain.chat_models.base import _attempt_infer_model_provider as infer_model_provider
from langgraph._internal._constants import (
    # Whether each step is saved before the next one starts; required for paid runs.
    CONFIG_KEY_DURABILITY,
    # Reads graph state where it is not passed as an argument: in backends and meters.
    CONFIG_KEY_READ,
    # Tells whether an interrupt has been answered, before work is repeated for it.
    CONFIG_KEY_SCRATCHPAD,
    # The channel of a step's interrupts.
    INTERRUPT,
    # The channel of tasks sent to a step.
    TASKS,
)

# Collects the types that a graph's state declares, which a strict serializer may construct.
from langgraph._internal._serde import collect_allowlist_from_schemas

# Makes the ids of checkpoints.
from langgraph.checkpoint.base import id as _checkpoint_ids

# The snapshot of a delta channel in a checkpoint's values; stored as a blob.
from langgraph.checkpoint.serde.types import _DeltaSnapshot as DeltaSnapshot
from langgraph.types import Command
from langgraph_sdk import Auth

# What a factory gets that takes the runtime: `ServerRuntime` is only the union of the two.
from langgraph_sdk.runtime import _ExecutionRuntime as ExecutionRuntime
from langgraph_sdk.runtime import _ReadRuntime as ReadRuntime

__all__ = [
    "CONFIG_KEY_DURABILITY",
    "CONFIG_KEY_READ",
    "CONFIG_KEY_SCRATCHPAD",
    "CORE_SLOT",
    "INNER_SLOT",
    "INTERRUPT",
    "PROMPT_CACHING_SUFFIX",
    "SUBAGENTS_SLOT",
    "TASKS",
    "VACATED_SLOTS",
    "DeltaSnapshot",
    "ExecutionRuntime",
    "ReadRuntime",
    "answer_message",
    "append_prompt_caching_middleware",
    "approvals_from_permissions",
    "authenticate_handler",
    "authorization_handler",
    "collect_allowlist_from_schemas",
    "decision_schema",
    "file_type_of",
    "follow_checkpoint_id",
    "infer_model_provider",
    "merge_message_writes",
    "updates_of",
]

# ── deepagents' stack: a layer of ours takes the slot whose name it has ──

CORE_SLOT = "FilesystemMiddleware"
"""First in the stack: our fused core."""
SUBAGENTS_SLOT = "SubAgentMiddleware"
"""Offers `task`: our subagents."""
VACATED_SLOTS = (
    "_ParentNotifierMiddleware",
    "SummarizationMiddleware",
    "PatchToolCallsMiddleware",
)
"""Removed: our core replaces them, or only deepagents' remote subagents need them."""
PROMPT_CACHING_SUFFIX = "PromptCachingMiddleware"
"""One slot per installed provider, between the agent's own layers and the last slot."""
INNER_SLOT = "UnsupportedContentMiddleware"
"""Last in the stack: our fused inner layers."""


def updates_of(command: Command[Any]) -> Sequence[tuple[str, Any]]:
    """Return a command's updates as pairs of field and value."""
    return command._update_as_tuples()


def authenticate_handler(auth: Auth) -> Callable[..., Any] | None:
    """Return the handler that identifies callers; the SDK keeps it for servers."""
    return auth._authenticate_handler


def authorization_handler(auth: Auth, resource: str, action: str) -> Callable[..., Any] | None:
    """Return the most specific handler for an action; None if the project has none for it."""
    for place in ((resource, action), (resource, "*"), ("*", action)):
        if found := auth._handlers.get(place):
            return found[-1]
    return auth._global_handlers[-1] if auth._global_handlers else None


def follow_checkpoint_id(checkpoint_id: str) -> None:
    """Let the ids of this process's next checkpoints be greater than this one."""
    made_at = _checkpoint_ids.UUID(checkpoint_id).time
    last = max(made_at, _checkpoint_ids._last_v6_timestamp or 0)
    _checkpoint_ids._last_v6_timestamp = last  # type: ignore[assignment]  # declared as None
