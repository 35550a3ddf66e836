"""Sealed steps: each node verifies the seal of its input state and seals its result.

A thread's state can be changed from outside a run: through the API, from an older checkpoint, or in
the database. So every node but the first accepts only a state that a node of this deployment sealed
on this thread, and only if that node's route leads here. Each seal covers the one before it.

`messages` belongs to the client, and `reasoning` is read only by people: neither is sealed. All
other fields are, including ones added later.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict, get_type_hints

from langgraph.runtime import Runtime

from bathysphere.agents.research.dependencies import Dependencies, thread_of
from bathysphere.agents.research.plan_seal import Sealer
from bathysphere.agents.research.routing import (
    route_after_audit,
    route_after_execution,
    route_after_gate,
    route_after_routing,
)
from bathysphere.agents.research.state import Node, ResearchInput, ResearchState
from bathysphere.policy.permission import NotApproved

Act = Callable[[Any, Runtime[Any]], Awaitable[dict[str, Any]]]

UNSEALED = frozenset({"messages", "reasoning", "step_seal"})
SEALED = tuple(sorted(get_type_hints(ResearchState).keys() - UNSEALED))
CLIENT = tuple(sorted(get_type_hints(ResearchInput).keys() - UNSEALED))
SEALED_APART = ("history",)
"""Fields with a seal of their own, which the entry node verifies."""
CHANGED = "The state was modified outside the run and is not approved"
ROUTES: Mapping[str, Callable[[Any], str]] = {
    "router": route_after_routing,
    "thinker": lambda _: "auditor",
    "auditor": route_after_audit,
    "hitl_gate": route_after_gate,
    "tool_executor": route_after_execution,
}
"""Node → route to the next node; the synthesizer and the answerer are last."""


class StateChanged(NotApproved):
    """The state was modified after the previous node."""

    code = "state_changed"


class StepSeal(TypedDict):
    """The seal of the state after a step."""

    node: str
    after: str
    mac: str


class SealedStep:
    """A node that verifies its input state and seals its result."""

    def __init__(self, deps: Dependencies, node: Node, act: Act) -> None:
        self._sealer = deps.sealer
        self._node = node
        self._act = act

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Verify the state, run the node and seal the result.

        Raises:
            StateChanged: The state was modified, or another node is next.
        """
        thread = thread_of(runtime)
        check_step(self._sealer, state, thread, next_node=self._node)
        return self._sealed(state, await self._act(state, runtime), thread)

    def _sealed(
        self, state: Mapping[str, Any], update: Mapping[str, Any], thread: str
    ) -> dict[str, Any]:
        after = _mac(state)
        sealed = _contents({**state, **update}, thread=thread, node=self._node, after=after)
        seal = StepSeal(node=self._node, after=after, mac=self._sealer.seal(sealed))
        return {**update, "step_seal": seal}


class FirstStep(SealedStep):
    """A node that starts over if the state is not sealed."""

    kept: tuple[str, ...] = (*CLIENT, "messages")

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Continue from a sealed state, or start with the client's input alone."""
        thread = thread_of(runtime)
        known: Any = state
        if not is_step(self._sealer, state, thread, next_node=self._node):
            # Drop everything else: a field that the node does not set would break the next seal.
            client_input = {name: state[name] for name in self.kept if name in state}  # type: ignore[literal-required]  # names of this type
            known = {**client_input, "step_seal": {"mac": _mac(state)}}
        return self._sealed(known, await self._act(known, runtime), thread)


class EntryStep(FirstStep):
    """The first node of every run: a client just wrote, so no step's seal can match."""

    kept = (*FirstStep.kept, *SEALED_APART)


class QuestionStep(SealedStep):
    """A node with an interrupt: an invalid answer leaves it pending, a modified state fails."""

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Run the node; fail without asking if the state was modified."""
        try:
            return await super().run(state, runtime)
        except StateChanged as error:
            return {"status": "failed", "error_message": str(error)}


def check_step(sealer: Sealer, state: Mapping[str, Any], thread: str, *, next_node: str) -> None:
    """Reject a state that is not sealed, or that leads to another node.

    Raises:
        StateChanged: The state was modified.
    """
    if not is_step(sealer, state, thread, next_node=next_node):
        raise StateChanged(CHANGED, hint="ask the question again")


def is_step(sealer: Sealer, state: Mapping[str, Any], thread: str, *, next_node: str) -> bool:
    """Whether the state was sealed on this thread and leads to the next node."""
    seal = state.get("step_seal")
    if not isinstance(seal, Mapping) or seal.get("node") not in ROUTES:
        return False
    node, after = str(seal["node"]), seal.get("after")
    sealed = _contents(state, thread=thread, node=node, after=after)
    return sealer.is_sealed(sealed, seal.get("mac")) and ROUTES[node](state) == next_node


def _contents(state: Mapping[str, Any], *, thread: str, node: str, after: Any) -> dict[str, Any]:
    fields = {name: state.get(name) for name in SEALED}
    return {"of": "step", "thread": thread, "node": node, "after": after, "fields": fields}


def _mac(state: Mapping[str, Any]) -> str:
    seal = state.get("step_seal")
    return str(seal.get("mac") or "") if isinstance(seal, Mapping) else ""
