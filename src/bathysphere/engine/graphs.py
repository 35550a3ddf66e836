"""The graphs a worker can run: built once per process, bound to an attempt's checkpoints."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from bathysphere.core.writers import Writer
from bathysphere.engine.errors import GraphNotFound
from bathysphere.engine.serializer import strict_serializer
from bathysphere.harness.state import writers_of

Graph = Pregel[Any, Any, Any, Any]


class Graphs:
    """Graphs by name. A factory compiles its graph without a checkpointer and without a store."""

    def __init__(self, factories: Mapping[str, Callable[[], Graph]]) -> None:
        self._factories = factories
        self._built: dict[str, Graph] = {}
        self._serializers: dict[str, JsonPlusSerializer] = {}
        self._writers: dict[str, Mapping[str, Writer]] = {}

    def names(self) -> list[str]:
        """Return the names of all graphs."""
        return sorted(self._factories)

    def get(self, name: str) -> Graph:
        """Return the graph, building it on first use.

        Raises:
            GraphNotFound: No graph has this name.
        """
        if name not in self._factories:
            raise GraphNotFound(
                f"Unknown graph {name!r}", hint=f"available: {', '.join(self.names())}"
            )
        if name not in self._built:
            self._built[name] = self._factories[name]()
        return self._built[name]

    def writers(self, name: str) -> Mapping[str, Writer]:
        """Return the writer of each state field; empty if the graph declares none.

        Raises:
            GraphNotFound: No graph has this name.
        """
        if name not in self._writers:
            self._writers[name] = writers_of(self.get(name))
        return self._writers[name]

    def bind(
        self, name: str, *, checkpointer: BaseCheckpointSaver[str], store: BaseStore | None = None
    ) -> Graph:
        """Return a copy of the graph that uses the checkpointer and the store.

        The checkpointer now reads with a strict serializer: see `engine.serializer`.
        """
        # Not `Pregel.copy`, which validates the whole graph again on each run.
        bound = copy.copy(self.get(name))
        if name not in self._serializers:
            self._serializers[name] = strict_serializer(bound)
        checkpointer.serde = self._serializers[name]
        bound.checkpointer = checkpointer
        if store is not None:
            bound.store = store
        return bound
