"""Factories of graphs: functions of a project that return a graph, once or for each run.

A factory without parameters is called once per process. One that takes the run's config or runtime
is called for every attempt at a run, and once without a run: schemas and states are read with that
graph, so the factory must return the same nodes and state each time. So are context managers, which
are left when the attempt ends.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from dataclasses import dataclass, field
from typing import Any, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from bathysphere.core.run_context import RunContext, RunUser
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, GraphSpec
from bathysphere.registry.errors import LoadError, load_failure
from bathysphere.upstream import ExecutionRuntime, ReadRuntime

Graph = Pregel[Any, Any, Any, Any]
KINDS = "an AgentSpec, a GraphSpec, a StateGraph, a compiled graph, an entrypoint or a factory"


@dataclass(frozen=True, kw_only=True, slots=True)
class FactoryCall:
    """Why a factory is called: for an attempt at a run, or (the default) to describe the graph."""

    config: RunnableConfig = field(default_factory=lambda: RunnableConfig(configurable={}))
    user: RunUser = field(default_factory=lambda: RunUser(RunContext()))
    store: BaseStore = field(default_factory=InMemoryStore)
    context: Any = None
    is_run: bool = False

    def runtime(self) -> Any:
        """The call as LangGraph's `ServerRuntime`."""
        if not self.is_run:
            return ReadRuntime(access_context="assistants.read", user=self.user, store=self.store)
        return ExecutionRuntime(
            access_context="threads.create_run",
            user=self.user,
            store=self.store,
            context=self.context,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Factory:
    """A function that returns a graph."""

    name: str
    """The agent's name."""
    source: str
    function: Callable[..., Any]
    arguments: tuple[tuple[str, str], ...] = ()
    """Parameter and what it takes: `config` or `runtime`."""
    is_per_run: bool = False

    @asynccontextmanager
    async def open(self, call: FactoryCall) -> AsyncIterator[Graph]:
        """Call the factory; what it opened stays open as long as the context.

        Its errors are raised as they are: a run reports them like those of a node.
        """
        async with AsyncExitStack() as stack:
            value = await self._call(call)
            if isinstance(value, AbstractAsyncContextManager):
                value = await stack.enter_async_context(value)
            elif isinstance(value, AbstractContextManager):
                value = stack.enter_context(value)
            yield graph_of(value, name=self.name, source=self.source)

    async def describe(self) -> Graph:
        """Return the graph without a run.

        Raises:
            LoadError: The factory fails, or returns something that is not a graph.
        """
        try:
            async with self.open(FactoryCall()) as graph:
                return graph
        except Exception as error:  # a factory may raise anything
            raise load_failure(self.source, error) from error

    async def _call(self, call: FactoryCall) -> Any:
        values = {"config": call.config, "runtime": call.runtime()}
        arguments = {name: values[kind] for name, kind in self.arguments}
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        # It may read files or connect: not on the event loop.
        value = await asyncio.to_thread(self.function, **arguments)
        return await value if inspect.isawaitable(value) else value


def graph_of(value: Any, *, name: str, source: str) -> Graph:
    """Compile a spec or a builder; a compiled graph stays as it is.

    Raises:
        LoadError: The value is none of these, or cannot be compiled.
    """
    try:
        if isinstance(value, AgentSpec | GraphSpec):
            return build(value)
        if isinstance(value, StateGraph):
            return value.compile(name=name)
    except Exception as error:  # the nodes of a graph may be anything
        raise load_failure(source, error) from error
    if isinstance(value, Pregel):
        return value
    raise not_an_agent(value, source)


def factory_of(function: Callable[..., Any], *, name: str, source: str) -> Factory:
    """Read from a function's signature when it is called, and with what.

    Raises:
        LoadError: It has a parameter that is neither the run's config nor its runtime.
    """
    arguments = tuple(
        (parameter.name, kind)
        for parameter in _parameters(function, source)
        if (kind := _kind(parameter, source)) is not None
    )
    original = inspect.unwrap(function)
    is_manager = original is not function and (
        inspect.isasyncgenfunction(original) or inspect.isgeneratorfunction(original)
    )
    return Factory(
        name=name,
        source=source,
        function=function,
        arguments=arguments,
        is_per_run=bool(arguments) or is_manager,
    )


def takes_models(function: Callable[..., Any], source: str) -> bool:
    """Whether a function makes a spec from the models of the settings.

    Raises:
        LoadError: It has no signature.
    """
    return any(parameter.name == "models" for parameter in _parameters(function, source))


def _parameters(function: Callable[..., Any], source: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # an annotation that exists for type checkers only
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise LoadError(f"{source} cannot be called: {error}", hint=f"use {KINDS}") from error
    return list(signature.parameters.values())


def _kind(parameter: inspect.Parameter, source: str) -> str | None:
    """What a parameter takes; None if its default is used."""
    annotation = parameter.annotation
    types = (annotation, *get_args(annotation))
    if parameter.name == "config" or RunnableConfig in types:
        return "config"
    if parameter.name == "runtime" or "ServerRuntime" in str(annotation):
        return "runtime"
    is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if is_open or parameter.default is not parameter.empty:
        return None
    raise LoadError(
        f"{source} has the parameter '{parameter.name}', which cannot be filled",
        hint="a factory takes nothing, `config: RunnableConfig` or `runtime: ServerRuntime`",
    )


def not_an_agent(value: Any, source: str) -> LoadError:
    """The error for a value that is none of the kinds."""
    is_class = inspect.isclass(value)
    kind = (
        f"the class {value.__name__}" if is_class else f"an object of type {type(value).__name__}"
    )
    return LoadError(f"{source} is {kind}", hint=f"use {KINDS}")
