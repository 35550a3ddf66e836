"""Dependencies shared by the graph's nodes: models, policy, sources, clock and sealer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.plan_seal import Sealer
from bathysphere.agents.research.report_store import StoredReports
from bathysphere.agents.research.snapshot_store import CallRecords, StoredSnapshots
from bathysphere.agents.research.source_access import SourceAccess
from bathysphere.agents.research.structured_output import Asker
from bathysphere.core.clock import Clock
from bathysphere.core.errors import ConfigError, NotAllowed
from bathysphere.core.run_context import context_of
from bathysphere.policy.rules import Policy
from bathysphere.tools.parsing_budget import LOCAL, Requester

LOCAL_THREAD = "local"
"""Thread id of a run without a checkpointer."""


class TokensSpent(NotAllowed):
    """The policy's token limit is exceeded."""

    code = "tokens_spent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependencies:
    """Dependencies of the nodes."""

    main: Asker
    audit: Asker
    policy: Policy
    sources: SourceAccess
    clock: Clock
    sealer: Sealer
    options: ResearchOptions = field(default_factory=ResearchOptions)

    def tools(self) -> dict[str, str]:
        """Available tools that the policy allows."""
        allowed = self.policy.tools.allowed
        return {name: about for name, about in self.sources.tools.items() if name in allowed}


def thread_of(runtime: Runtime[Any]) -> str:
    """The thread id from the engine, never from the state."""
    info = runtime.execution_info
    return (info.thread_id if info is not None else None) or LOCAL_THREAD


def thread_snapshots(deps: Dependencies, runtime: Runtime[Any]) -> StoredSnapshots:
    """The snapshot store of this thread.

    Raises:
        ConfigError: The graph was compiled without a store.
    """
    return StoredSnapshots(_store_of(runtime), thread_of(runtime), deps.sealer)


def thread_reports(deps: Dependencies, runtime: Runtime[Any]) -> StoredReports:
    """The finished reports of this thread.

    Raises:
        ConfigError: The graph was compiled without a store.
    """
    return StoredReports(_store_of(runtime), thread_of(runtime), deps.sealer)


def call_records(deps: Dependencies, runtime: Runtime[Any], *, grant: str) -> CallRecords:
    """The records of calls made under an approval.

    Raises:
        ConfigError: The graph was compiled without a store.
    """
    return CallRecords(_store_of(runtime), thread_of(runtime), deps.sealer, grant=grant)


def _store_of(runtime: Runtime[Any]) -> BaseStore:
    if runtime.store is None:
        raise ConfigError("Research needs a store", hint="pass store=… to build()")
    return runtime.store


def person_of(runtime: Runtime[Any]) -> str:
    """The user who approves, from the engine."""
    return context_of(runtime).user or "the person"


def requester_of(runtime: Runtime[Any]) -> Requester:
    """The requester whose parsing budget is charged, from the engine."""
    context = context_of(runtime)
    return Requester(context.tenant or LOCAL.tenant, context.user or LOCAL.user)


def tokens_left(deps: Dependencies, state: Mapping[str, Any], tokens: int) -> int:
    """Tokens left under the policy's limit, less those used since the last step."""
    return deps.policy.limits.tokens - int(state.get("tokens_used") or 0) - tokens


def spend(deps: Dependencies, state: Mapping[str, Any], tokens: int) -> dict[str, int]:
    """Add tokens to the state's count.

    Raises:
        TokensSpent: The policy's limit is exceeded.
    """
    used = int(state.get("tokens_used") or 0) + tokens
    limit = deps.policy.limits.tokens
    if used > limit:
        raise TokensSpent(
            f"Token limit exceeded: {used:,} of {limit:,}",
            hint="narrow the question, or raise limits.tokens in POLICY.md",
        )
    return {"tokens_used": used}
