"""Fuse several middleware layers into one, for speed.

LangChain wraps every hook of every layer in a trace span, which for an async function costs two
thread hops and a task per layer and call even when nothing is traced, and gives every node hook a
graph step, which costs a checkpoint. The harness's layers need neither, so they run as one layer,
in the same order, whose async hooks are plain functions that return a coroutine.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from inspect import isfunction, signature
from typing import (
    Any,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command, TracePolicy, omit_payload
from langsmith import RunTree, get_current_run_tree, tracing_context
from langsmith.utils import tracing_is_enabled

from bathysphere.upstream import updates_of

Layer = AgentMiddleware[Any, Any, Any]
ModelCall = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncModelCall = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ToolResult = ToolMessage | Command[Any]
ToolCall = Callable[[ToolCallRequest], ToolResult]
AsyncToolCall = Callable[[ToolCallRequest], Awaitable[ToolResult]]
Commands = list[Command[Any]]
Reducer = Callable[[Any, Any], Any]
T = TypeVar("T")
HookT = TypeVar("HookT", bound=Callable[..., Any])

UNFUSED_HOOKS = ("before_model", "after_model", "after_agent")


def fuse(name: str, layers: Sequence[Layer]) -> Layer:
    """Fuse layers into one, with only the hooks that they define."""
    for layer in layers:
        for hook in UNFUSED_HOOKS:
            if _has(layer, hook):
                message = f"{type(layer).__name__} has a graph step ({hook}) and cannot be fused"
                raise TypeError(message)
    hooks = {
        hook: getattr(_Fused, f"_{hook}")
        for hook in ("before_agent", "wrap_model_call", "wrap_tool_call")
        if any(_has(layer, hook) for layer in layers)
    }
    hooks |= {f"a{hook}": getattr(_Fused, f"_a{hook}") for hook in list(hooks)}
    return type("Fused", (_Fused,), hooks)(name, layers)  # type: ignore[no-any-return]


def _with_signature(hook: HookT) -> HookT:
    """Keep the signature of a hook: LangSmith asks for it at each call, traced or not."""
    hook.__signature__ = signature(hook)  # type: ignore[attr-defined]
    return hook


class _Fused(AgentMiddleware[Any, Any, Any]):
    """Runs several layers in order."""

    # The runs of models and tools within record what goes in and out.
    trace_policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)

    def __init__(self, name: str, layers: Sequence[Layer]) -> None:
        super().__init__()
        self._name = name
        self.layers = tuple(layers)
        self.tools = [tool for layer in layers for tool in getattr(layer, "tools", ())]
        self.transformers = tuple(t for layer in layers for t in getattr(layer, "transformers", ()))
        self.state_schema = _merged_schema(layers)
        self._reducers = _reducers_of(self.state_schema)
        self._starting = tuple(layer for layer in layers if _has(layer, "before_agent"))
        self._around_model = tuple(layer for layer in layers if _has(layer, "wrap_model_call"))
        self._around_tool = tuple(layer for layer in layers if _has(layer, "wrap_tool_call"))

    @property
    def name(self) -> str:
        """The slot in deepagents' stack that this takes."""
        return self._name

    def _before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        update: dict[str, Any] = {}
        for layer in self._starting:
            update |= layer.before_agent(state, runtime) or {}
        return update or None

    async def _abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        update: dict[str, Any] = {}
        for layer in self._starting:
            if type(layer).abefore_agent is not AgentMiddleware.abefore_agent:
                update |= await layer.abefore_agent(state, runtime) or {}
            else:
                update |= layer.before_agent(state, runtime) or {}
        return update or None

    def _wrap_model_call(
        self, request: ModelRequest[Any], handler: ModelCall
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        commands: Commands = []
        response = _around(self._around_model, request, handler, commands)
        return _together(response, commands, self._reducers)

    @_with_signature
    def _awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncModelCall
    ) -> Awaitable[ModelResponse[Any] | ExtendedModelResponse[Any]]:
        return _in_span(self._model_call(request, handler))

    async def _model_call(
        self, request: ModelRequest[Any], handler: AsyncModelCall
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        commands: Commands = []
        response = await _aaround(self._around_model, request, handler, commands)
        return _together(response, commands, self._reducers)

    def _wrap_tool_call(self, request: ToolCallRequest, handler: ToolCall) -> ToolResult:
        return _around_tool(self._around_tool, request, handler)

    @_with_signature
    def _awrap_tool_call(
        self, request: ToolCallRequest, handler: AsyncToolCall
    ) -> Awaitable[ToolResult]:
        return _in_span(_aaround_tool(self._around_tool, request, handler))


def _in_span(work: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """The work; within the span of the hook, if it is traced."""
    span = get_current_run_tree()
    return work if span is None else _traced(span, work)


async def _traced(span: RunTree, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, and end its span again: it ended when the hook returned the coroutine."""
    error: str | None = None
    try:
        with tracing_context(parent=span):
            return await work
    except BaseException as raised:
        error = repr(raised)
        raise
    finally:
        with suppress(Exception):  # what cannot be traced must still run
            span.end(error=error)
            if tracing_is_enabled() is True:
                span.patch()


def _around(
    layers: tuple[Layer, ...], request: ModelRequest[Any], handler: ModelCall, commands: Commands
) -> ModelResponse[Any]:
    if not layers:
        return handler(request)
    inner_commands: Commands = []

    def inner(request: ModelRequest[Any]) -> ModelResponse[Any]:
        inner_commands.clear()  # reset when a layer calls the handler again
        return _around(layers[1:], request, handler, inner_commands)

    response = _split(layers[0].wrap_model_call(request, inner), inner_commands)
    commands.extend(inner_commands)
    return response


async def _aaround(
    layers: tuple[Layer, ...],
    request: ModelRequest[Any],
    handler: AsyncModelCall,
    commands: Commands,
) -> ModelResponse[Any]:
    if not layers:
        return await handler(request)
    inner_commands: Commands = []

    async def inner(request: ModelRequest[Any]) -> ModelResponse[Any]:
        inner_commands.clear()  # reset when a layer calls the handler again
        return await _aaround(layers[1:], request, handler, inner_commands)

    response = _split(await layers[0].awrap_model_call(request, inner), inner_commands)
    commands.extend(inner_commands)
    return response


def _around_tool(
    layers: tuple[Layer, ...], request: ToolCallRequest, handler: ToolCall
) -> ToolResult:
    if not layers:
        return handler(request)
    return layers[0].wrap_tool_call(request, lambda r: _around_tool(layers[1:], r, handler))


async def _aaround_tool(
    layers: tuple[Layer, ...], request: ToolCallRequest, handler: AsyncToolCall
) -> ToolResult:
    if not layers:
        return await handler(request)
    return await layers[0].awrap_tool_call(request, lambda r: _aaround_tool(layers[1:], r, handler))


def _split(
    result: ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any], commands: Commands
) -> ModelResponse[Any]:
    """Split off the response; its command is added to those of the inner layers."""
    if isinstance(result, ExtendedModelResponse):
        if result.command is not None:
            commands.append(result.command)
        return result.model_response
    return ModelResponse(result=[result]) if isinstance(result, AIMessage) else result


def _together(
    response: ModelResponse[Any], commands: Commands, reducers: Mapping[str, Reducer]
) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    if not commands:
        return response
    if len(commands) == 1:
        return ExtendedModelResponse(model_response=response, command=commands[0])
    updates = _reduced([pair for command in commands for pair in updates_of(command)], reducers)
    return ExtendedModelResponse(model_response=response, command=Command(update=updates))


def _reduced(
    updates: Sequence[tuple[str, Any]], reducers: Mapping[str, Reducer]
) -> list[tuple[str, Any]]:
    """One update per field: of two, LangGraph would make a list, which readers do not expect."""
    merged: dict[str, Any] = {}
    for name, value in updates:
        known = name in merged and name in reducers
        merged[name] = reducers[name](merged[name], value) if known else value
    return list(merged.items())


def _reducers_of(schema: type[Any]) -> dict[str, Reducer]:
    """The functions with which a schema's fields merge writes."""
    found: dict[str, Reducer] = {}
    for name, hint in get_type_hints(schema, include_extras=True).items():
        while get_origin(hint) in (NotRequired, Required):
            hint = get_args(hint)[0]
        functions = [each for each in getattr(hint, "__metadata__", ()) if isfunction(each)]
        if functions:
            found[name] = functions[-1]
    return found


def _has(layer: Layer, hook: str) -> bool:
    own, base = type(layer), AgentMiddleware
    return any(getattr(own, name) is not getattr(base, name) for name in (hook, f"a{hook}"))


def _merged_schema(layers: Sequence[Layer]) -> type[Any]:
    fields: dict[str, Any] = {}
    for layer in layers:
        fields |= get_type_hints(layer.state_schema, include_extras=True)
    return TypedDict("FusedState", fields)  # type: ignore[operator, no-any-return]
