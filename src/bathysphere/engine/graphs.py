"""The graphs a worker can run: made once a process, bound to an attempt's checkpoints cheaply."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from bathysphere.engine.errors import GraphNotFound

Graph = Pregel[Any, Any, Any, Any]


class Graphs:
    """Graphs by name. A factory compiles its graph without a checkpointer and without a store."""

    def __init__(self, factories: Mapping[str, Callable[[], Graph]]) -> None:
        self._factories = factories
        self._made: dict[str, Graph] = {}

    def names(self) -> list[str]:
        """What can be asked for."""
        return sorted(self._factories)

    def get(self, name: str) -> Graph:
        """The graph, made at its first use.

        Raises:
            GraphNotFound: No graph has this name.
        """
        if name not in self._factories:
            raise GraphNotFound(f"no graph {name!r}", hint=f"there are {', '.join(self.names())}")
        if name not in self._made:
            self._made[name] = self._factories[name]()
        return self._made[name]

    def bind(
        self, name: str, *, checkpointer: BaseCheckpointSaver[str], store: BaseStore | None = None
    ) -> Graph:
        """The graph with somewhere to write; the original is left as it is."""
        # Not `Pregel.copy`, which validates the whole graph again for each run.
        bound = copy.copy(self.get(name))
        bound.checkpointer = checkpointer
        if store is not None:
            bound.store = store
        return bound
