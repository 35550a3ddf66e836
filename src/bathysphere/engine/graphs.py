"""The graphs a worker can run: built once per process or per run, bound to an attempt's storage."""

import copy
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from bathysphere.core.errors import ConfigError
from bathysphere.core.writers import Writer
from bathysphere.engine.errors import GraphNotFound
from bathysphere.engine.serializer import strict_serializer
from bathysphere.harness.context import coerced_context
from bathysphere.harness.state import writers_of
from bathysphere.registry.factories import Factory, FactoryCall

Graph = Pregel[Any, Any, Any, Any]
Source = Callable[[], Graph] | Factory
"""Makes a graph without a checkpointer and a store: at first use, or as its factory says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChoice:
    """The models that a run can choose from, and the graphs that can take another one."""

    offered: tuple[str, ...]
    graphs: frozenset[str]
    build: "Callable[[str], Graphs]"
    """Makes those graphs with another main model."""


class Graphs:
    """Graphs by name. Those of a `Factory` can be used once `prepare` has described them."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        descriptions: Mapping[str, str] | None = None,
        default: str | None = None,
    ) -> None:
        self.default = default
        """The graph that a client should offer first, if the operator served it by name."""
        self.choice: ModelChoice | None = None
        """None if the operator's settings alone choose the models."""
        self._by_model: dict[str, Graphs] = {}
        self._sources = sources
        self._descriptions = descriptions or {}
        self._built: dict[str, Graph] = {}
        self._serializers: dict[str, JsonPlusSerializer] = {}
        self._writers: dict[str, Mapping[str, Writer]] = {}

    async def prepare(self) -> None:
        """Call the factories, in this process's event loop.

        Raises:
            LoadError: A factory fails; the message names it.
        """
        for name, source in self._sources.items():
            if isinstance(source, Factory) and name not in self._built:
                self._built[name] = await source.describe()

    def replace(self, other: "Graphs") -> None:
        """Serve the graphs of another object, which is prepared, instead of these.

        Attempts at runs that have begun go on with the graph that they have.
        """
        self.default = other.default
        self.choice = other.choice
        self._by_model = other._by_model
        self._sources = other._sources
        self._descriptions = other._descriptions
        self._built = other._built
        self._serializers = other._serializers
        self._writers = other._writers

    def names(self) -> list[str]:
        """Return the names of all graphs."""
        return sorted(self._sources)

    def require(self, name: str) -> str:
        """Return the name.

        Raises:
            GraphNotFound: No graph has this name.
        """
        if name not in self._sources:
            raise GraphNotFound(
                f"Unknown graph {name!r}", hint=f"available: {', '.join(self.names())}"
            )
        return name

    def get(self, name: str) -> Graph:
        """Return the graph, building it on first use; of one built per run, its description.

        Raises:
            GraphNotFound: No graph has this name.
        """
        self.require(name)
        if name not in self._built:
            source = self._sources[name]
            if isinstance(source, Factory):
                message = f"Graphs.prepare() has not run: {name}"
                raise RuntimeError(message)
            self._built[name] = source()
        return self._built[name]

    def description(self, name: str) -> str | None:
        """Return what the graph is for; None if nobody said so."""
        return self._descriptions.get(name)

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
        return self._bound(name, self.get(name), checkpointer, store)

    @asynccontextmanager
    async def open(
        self,
        name: str,
        call: FactoryCall,
        *,
        checkpointer: BaseCheckpointSaver[str],
        store: BaseStore | None = None,
        model: str | None = None,
    ) -> AsyncIterator[Graph]:
        """Return the graph for one attempt at a run, bound like `bind`, with its main model.

        The model was checked when the run was created: a run goes on with it, even if it is no
        longer offered.

        Raises:
            ConfigError: The graph was built for this run, and its fields have other writers than
                requests were checked against.
        """
        if model is not None and self.choice is not None and name in self.choice.graphs:
            graph = self._with_model(model, self.choice).get(name)
            yield self._bound(name, graph, checkpointer, store)
            return
        source = self._sources.get(name)
        if not isinstance(source, Factory) or not source.is_per_run:
            yield self.bind(name, checkpointer=checkpointer, store=store)
            return
        context = coerced_context(self.get(name).context_schema, call.context)
        async with source.open(replace(call, context=context)) as graph:
            if writers_of(graph) != self.writers(name):
                raise ConfigError(f"The factory of '{name}' declares other writers for this run")
            yield self._bound(name, graph, checkpointer, store)

    def _with_model(self, model: str, choice: ModelChoice) -> "Graphs":
        if model not in self._by_model:
            self._by_model[model] = choice.build(model)
        return self._by_model[model]

    def _bound(
        self,
        name: str,
        graph: Graph,
        checkpointer: BaseCheckpointSaver[str],
        store: BaseStore | None,
    ) -> Graph:
        # Not `Pregel.copy`, which validates the whole graph again on each run.
        bound = copy.copy(graph)
        if name not in self._serializers:
            self._serializers[name] = strict_serializer(self.get(name))
        checkpointer.serde = self._serializers[name]
        bound.checkpointer = checkpointer
        if store is not None:
            bound.store = store
        return bound
