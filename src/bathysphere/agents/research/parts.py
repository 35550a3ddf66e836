"""What the nodes share: models, policy, what can be read, time, and the operator's key."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langgraph.runtime import Runtime

from bathysphere.agents.research.asking import Asker
from bathysphere.agents.research.keeping import StoredSnapshots
from bathysphere.agents.research.sealing import Sealer
from bathysphere.core.clock import Clock
from bathysphere.core.errors import ConfigError, NotAllowed
from bathysphere.evidence.settle import Unsupported
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.policy.plan import Plan
from bathysphere.policy.rules import Policy
from bathysphere.tools.search.contract import SearchResult

ALONE = "local"
"""The thread of a run that nobody keeps."""


MayVisit = Callable[[str], str | None]
"""Whether a redirect may lead to an address: why not, or nothing."""


class Reach(Protocol):
    """Everything that leaves this process, or reads what is on this machine, for a run."""

    @property
    def tools(self) -> Mapping[str, str]:
        """The tools there are, each with what it takes."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """Search the web."""
        ...

    async def fetch(self, url: str, may_visit: MayVisit) -> Snapshot:
        """Open a page."""
        ...

    async def corpus(self, query: str, limit: int) -> Sequence[Snapshot]:
        """Search the operator's own documents, and read what is found."""
        ...


class TokensSpent(NotAllowed):
    """The policy's tokens are used up."""

    code = "tokens_spent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Habits:
    """What a deployment may change about how research is done."""

    unsupported: Unsupported = "mark"
    """Whether claims without support stay, marked, or go and are counted."""
    pages: int = 3
    """Results of one search that are opened."""
    documents: int = 4
    """Documents of the corpus that one search reads."""
    rounds: int = 1
    """How often the model may ask for more than the plan names."""
    at_once: int = 16
    """Calls under way at the same time."""
    step_seconds: float = 60
    """How long one call may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything the nodes work with."""

    main: Asker
    audit: Asker
    policy: Policy
    reach: Reach
    clock: Clock
    sealer: Sealer
    config: Habits = field(default_factory=Habits)

    def tools(self) -> dict[str, str]:
        """The tools that are there and that the policy allows."""
        allowed = self.policy.tools.allowed
        return {name: about for name, about in self.reach.tools.items() if name in allowed}


def thread_of(runtime: Runtime[Any]) -> str:
    """The thread, as the engine knows it; never what the state says."""
    info = runtime.execution_info
    return (info.thread_id if info is not None else None) or ALONE


def kept(runtime: Runtime[Any]) -> StoredSnapshots:
    """Where the sources of this thread are.

    Raises:
        ConfigError: The graph was compiled without a store.
    """
    if runtime.store is None:
        raise ConfigError("research needs a store for its sources", hint="build it with store=…")
    return StoredSnapshots(runtime.store, thread_of(runtime))


def person_of(runtime: Runtime[Any]) -> str:
    """Who says yes or no, as the engine knows them."""
    context = runtime.context
    if isinstance(context, Mapping):
        return str(context.get("user") or "the person")
    return str(getattr(context, "user", None) or "the person")


def spend(parts: Parts, state: Mapping[str, Any], tokens: int) -> dict[str, int]:
    """Count tokens.

    Raises:
        TokensSpent: More were used than the policy allows.
    """
    used = int(state.get("tokens_used") or 0) + tokens
    most = parts.policy.limits.tokens
    if used > most:
        raise TokensSpent(
            f"{used:,} tokens were used and the policy allows {most:,}",
            hint="ask something smaller, or raise limits.tokens in POLICY.md",
        )
    return {"tokens_used": used}


def read_plan(plan: Mapping[str, Any]) -> Plan:
    """The plan of a state, without what its steps gave."""
    steps = [{k: v for k, v in step.items() if k != "output"} for step in plan["steps"]]
    return Plan.model_validate({**plan, "steps": steps})


def shown(plan: Plan, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The plan for the state: each step with what it gave, once it is done."""
    plain = plan.plain()
    for step in plain["steps"]:
        if step["id"] in results:
            step["output"] = str(results[step["id"]].get("summary", ""))
    return plain
