"""Private names of LangGraph, LangChain and deepagents: the list to read at an upgrade.

Every other module imports them from here; an architecture test forbids private imports elsewhere.
Couplings that are not imports (the slots below, private methods that our subclasses override) are
checked against the installed versions by `tests/contract/test_upstream.py`.
"""

from collections.abc import Sequence
from typing import Any

# The reducer of deepagents' message channel; ours adds a shortcut for appending.
from deepagents._messages_reducer import _messages_delta_reducer as merge_message_writes

# Text or binary, decided as deepagents' own backends decide it.
from deepagents.backends.utils import _get_backend_read_file_type as file_type_of

# A permission may say "ask"; this derives the approvals that such permissions mean.
from deepagents.middleware._fs_interrupt import (
    _build_interrupt_on_from_permissions as approvals_from_permissions,
)

# Which providers' prompt caching layers exist depends on what is installed.
from deepagents.middleware._prompt_caching import append_prompt_caching_middleware
from langgraph._internal._constants import (
    # Whether every step is written down before the next begins: a paid run must.
    CONFIG_KEY_DURABILITY,
    # Reads a field of graph state where there is no state argument: in backends and meters.
    CONFIG_KEY_READ,
    # Whether an interrupt has been answered already, before work is repeated for it.
    CONFIG_KEY_SCRATCHPAD,
    # The channel of a step's open questions.
    INTERRUPT,
    # The channel of what a step was asked to do, one entry per task.
    TASKS,
)

# The types that a graph's state declares: all that a strict serializer constructs.
from langgraph._internal._serde import collect_allowlist_from_schemas

# How a delta channel's full copy appears among a checkpoint's values; it is stored as a blob.
from langgraph.checkpoint.serde.types import _DeltaSnapshot as DeltaSnapshot
from langgraph.types import Command

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
    "append_prompt_caching_middleware",
    "approvals_from_permissions",
    "collect_allowlist_from_schemas",
    "file_type_of",
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
"""Their work is done by our core, or serves only deepagents' own remote subagents."""
PROMPT_CACHING_SUFFIX = "PromptCachingMiddleware"
"""One slot per provider that is installed, between the agent's own layers and the last slot."""
INNER_SLOT = "UnsupportedContentMiddleware"
"""Last in the stack: our fused inner layers."""


def updates_of(command: Command[Any]) -> Sequence[tuple[str, Any]]:
    """A command's updates as pairs of field and value, whatever form they were given in."""
    return command._update_as_tuples()
