"""`create_deep_agent` with deepagents' signature, built on this harness.

Accepts the arguments of deepagents 0.7 and, where they do not conflict, the legacy ones (`tools,
instructions, model`, subagents with `prompt` and `model_settings`). They become an `AgentSpec` for
`harness.build`, so planning, limits over the whole tree, isolated failures and approvals per call
are included. A model given by name, or not at all, is resolved with the settings of the
environment; a name without a provider gets the one that LangChain infers.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, get_type_hints

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemPermission
from langchain.agents.middleware import TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.cache.base import BaseCache
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from bathysphere.backends.factory import BackendFactory, FactoryBackend
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.errors import CallerError
from bathysphere.harness.build import Graph, build
from bathysphere.harness.spec import (
    GENERAL_PURPOSE,
    SUBAGENT_PROMPT,
    AgentSpec,
    CompiledSubagent,
    SubagentSpec,
    Tool,
)
from bathysphere.harness.state import HarnessState
from bathysphere.middleware.approvals import Approval
from bathysphere.middleware.reliability import reliability
from bathysphere.models.inference import with_provider
from bathysphere.models.resolve import Models, resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.models.tool_names import tool_name

Layer = AgentMiddleware[Any, Any, Any]
Permissions = Sequence[FilesystemPermission]

_OLDER_ORDER = (
    "tools",
    "instructions",
    "model",
    "subagents",
    "state_schema",
    "config_schema",
    "checkpointer",
)


def _takes_older_order(create: Callable[..., Graph]) -> Callable[..., Graph]:
    """Accept the legacy argument order, which starts with a list of tools."""

    @functools.wraps(create)
    def either(*args: Any, **keywords: Any) -> Graph:
        if args and isinstance(args[0], list | tuple):
            keywords |= dict(zip(_OLDER_ORDER, args, strict=False))
            args = ()
        return create(*args, **keywords)

    return either


@_takes_older_order
def create_deep_agent(
    model: str | BaseChatModel | None = None,
    tools: Sequence[Tool] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[Layer] = (),
    subagents: Sequence[Mapping[str, Any]] | None = None,
    skills: Sequence[str] | None = None,
    memory: Sequence[str] | None = None,
    permissions: Permissions | None = None,
    backend: BackendProtocol | BackendFactory | None = None,
    interrupt_on: Mapping[str, Approval] | None = None,
    response_format: Any = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: BaseCache[Any] | None = None,
    instructions: str | None = None,
    config_schema: type[Any] | None = None,
) -> Graph:
    """Build an agent from deepagents' arguments.

    Args:
        model: A chat model or its name; by default, the model of the settings.
        tools: The agent's own tools, in addition to planning, files and `task`.
        system_prompt: The system prompt; guidance on planning is added.
        middleware: The agent's own layers, outermost first.
        subagents: deepagents' `SubAgent` and `CompiledSubAgent` dicts, or legacy ones.
        skills: Paths of skills, for the agent and its general-purpose subagent.
        memory: Files whose text is included in the prompt.
        permissions: The paths that may be read and written; the first matching rule applies.
        backend: The storage of files, or a function of the runtime that returns it; by default,
            graph state.
        interrupt_on: Tools whose calls need approval, in the whole tree, each call by itself. If
            the backend offers a shell, this includes `execute` unless it is False here.
        response_format: The schema of structured output.
        state_schema: Additional fields of graph state, shared with the subagents.
        context_schema: The schema of `context`.
        checkpointer: LangGraph's checkpointer.
        store: LangGraph's store.
        debug: LangGraph's debug output.
        name: The agent's name.
        cache: LangGraph's node cache.
        instructions: The legacy name of `system_prompt`.
        config_schema: The legacy name of `context_schema`.

    Raises:
        CallerError: If an argument is invalid.
        ConfigError: If a model cannot be built, or two tools have the same name.
    """
    files = _backend(backend)
    if isinstance(files, FactoryBackend):
        _refuse_permissions(permissions, subagents or ())
    parts = _Parts.of(model)
    spec = AgentSpec(
        name=name or "deep-agent",
        model=parts.main,
        subagent_model=parts.subagent,
        summary_model=parts.summary,
        prompt=_prompt(system_prompt, instructions),
        tools=tuple(tools or ()),
        subagents=_subagents(subagents, parts, skills or (), tools or ()),
        backend=files,
        middleware=(*parts.layers, *_without_planning(middleware)),
        approvals=interrupt_on or {},
        skills=tuple(skills or ()),
        memory=tuple(memory or ()),
        permissions=tuple(permissions or ()),
        response_format=response_format,
        state_schema=_with_harness_state(state_schema),
        context_schema=context_schema or config_schema,
        requires_writers=False,  # the caller need not declare writers of their own fields
    )
    return build(spec, checkpointer=checkpointer, store=store, cache=cache, debug=debug)


# ── models ──


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """The models, and the middleware of those resolved by name."""

    main: BaseChatModel
    subagent: BaseChatModel | None = None
    summary: BaseChatModel | None = None
    settings: ModelSettings | None = None
    layers: tuple[Layer, ...] = ()

    @classmethod
    def of(cls, model: object) -> "_Parts":
        """Use a model as it is, or resolve its name or the settings' model."""
        if isinstance(model, BaseChatModel):
            return cls(main=model)
        if model is not None and not isinstance(model, str):
            kind = type(model).__name__
            raise CallerError(
                f"Invalid model: expected a chat model or a name, got {kind}",
                hint="pass a chat model or its name",
            )
        settings = ModelSettings.from_environment()
        if model is None:
            models = Models.from_settings(settings)
            return cls(
                main=models.main,
                subagent=models.subagent,
                summary=models.summary,
                settings=settings,
                layers=reliability(settings, fallback=models.fallback),
            )
        main = resolve(with_provider(model), settings)
        return cls(main=main, settings=settings, layers=reliability(settings))

    def of_subagent(self, sub: Mapping[str, Any]) -> BaseChatModel | None:
        """Return a subagent's own model, from `model` or the legacy `model_settings`."""
        extra = dict(sub.get("model_settings") or {})
        model: str | BaseChatModel | None = sub.get("model") or extra.pop("model", None)
        if isinstance(model, str):
            settings = self.settings or ModelSettings.from_environment()
            model = resolve(with_provider(model), settings, retries=2)
        if not extra:
            return model
        return _tuned(model or self.subagent or self.main, extra, sub["name"])


_TUNABLE = ("temperature", "max_tokens", "top_p")


def _tuned(model: BaseChatModel, extra: Mapping[str, Any], name: str) -> BaseChatModel:
    """Copy a model with other sampling parameters; nothing else can be changed."""
    cannot = [key for key in extra if key not in _TUNABLE or key not in type(model).model_fields]
    if cannot:
        raise CallerError(
            f"Unsupported model_settings of subagent '{name}': {', '.join(sorted(cannot))}",
            hint=f"use only model, {', '.join(_TUNABLE)}; otherwise pass a chat model as `model`",
        )
    return model.model_copy(update=dict(extra))


# ── subagents ──

_KEYS = {
    "name",
    "description",
    "system_prompt",
    "prompt",
    "tools",
    "model",
    "model_settings",
    "middleware",
    "interrupt_on",
    "skills",
    "permissions",
    "response_format",
    "mode",
}
_COMPILED_KEYS = {"name", "description", "runnable", "mode"}


def _subagents(
    subagents: Sequence[Mapping[str, Any]] | None,
    parts: _Parts,
    skills: Sequence[str],
    tools: Sequence[Tool],
) -> tuple[SubagentSpec | CompiledSubagent, ...]:
    given = tuple(_subagent(sub, parts, tools) for sub in subagents or ())
    names = [sub.name for sub in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CallerError(f"Duplicate subagent name: '{twice[0]}'", hint="rename one of them")
    if GENERAL_PURPOSE.name in names:
        return given
    return (replace(GENERAL_PURPOSE, skills=tuple(skills), middleware=parts.layers), *given)


def _subagent(
    sub: Mapping[str, Any], parts: _Parts, tools: Sequence[Tool]
) -> SubagentSpec | CompiledSubagent:
    _check_subagent(sub)
    if "runnable" in sub:
        return CompiledSubagent(
            name=sub["name"], description=sub["description"], runnable=sub["runnable"]
        )
    own_rules = sub.get("permissions")
    return SubagentSpec(
        name=sub["name"],
        description=sub["description"],
        prompt=sub.get("system_prompt") or sub.get("prompt") or SUBAGENT_PROMPT,
        model=parts.of_subagent(sub),
        tools=_own_tools(sub, tools),
        middleware=(*parts.layers, *_without_planning(sub.get("middleware") or ())),
        approvals=sub.get("interrupt_on"),
        skills=tuple(sub.get("skills") or ()),
        permissions=None if own_rules is None else tuple(own_rules),
        response_format=sub.get("response_format"),
    )


def _own_tools(sub: Mapping[str, Any], tools: Sequence[Tool]) -> tuple[Tool, ...] | None:
    """Return a subagent's tools; a string names one of the main agent's."""
    if sub.get("tools") is None:
        return None
    known = {tool_name(tool): tool for tool in tools}
    unknown = [each for each in sub["tools"] if isinstance(each, str) and each not in known]
    if unknown:
        raise CallerError(
            f"Unknown tools of subagent '{sub['name']}': {', '.join(unknown)}",
            hint=f"available: {', '.join(known) or 'none'}; files and planning are always included",
        )
    return tuple(known[each] if isinstance(each, str) else each for each in sub["tools"])


def _check_subagent(sub: Mapping[str, Any]) -> None:
    name = sub.get("name")
    if not name or not sub.get("description"):
        raise CallerError(
            f"Subagent without a name or description: {name or dict(sub)!r}",
            hint="set both; the main agent selects subagents by them",
        )
    if "graph_id" in sub:
        raise CallerError(
            f"Remote subagents (graph_id) are not supported: '{name}'",
            hint="pass a CompiledSubAgent that calls the remote graph",
        )
    known = _COMPILED_KEYS if "runnable" in sub else _KEYS
    unknown = sorted(set(sub) - known)
    if unknown:
        raise CallerError(
            f"Unknown keys of subagent '{name}': {', '.join(unknown)}",
            hint=f"supported keys: {', '.join(sorted(known))}",
        )
    if sub.get("mode", "isolated") != "isolated":
        raise CallerError(
            f"Unsupported mode of subagent '{name}': '{sub['mode']}'",
            hint="omit `mode`; subagents are always isolated and get what they need in their task",
        )


# ── the rest ──


def _prompt(system_prompt: str | SystemMessage | None, instructions: str | None) -> str:
    if system_prompt is not None and instructions is not None:
        raise CallerError(
            "Both system_prompt and instructions were passed", hint="use system_prompt only"
        )
    prompt = instructions if system_prompt is None else system_prompt
    return prompt.text if isinstance(prompt, SystemMessage) else prompt or ""


def _backend(backend: object) -> BackendProtocol:
    if backend is None:
        return ScratchBackend()
    if isinstance(backend, BackendProtocol):
        return backend
    if isinstance(backend, type) or not callable(backend):
        name = backend.__name__ if isinstance(backend, type) else type(backend).__name__
        raise CallerError(
            f"Invalid backend: {name}",
            hint="pass an instance, or a function that takes the runtime and returns one",
        )
    return FactoryBackend(backend)


def _refuse_permissions(
    permissions: Permissions | None, subagents: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse path permissions: resolving links needs a known backend."""
    if permissions or any(sub.get("permissions") for sub in subagents):
        raise CallerError(
            "Permissions cannot be combined with a backend factory",
            hint="pass the backend as an instance",
        )


def _without_planning(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Remove LangChain's todo list: the harness has planning built in."""
    return tuple(layer for layer in layers if type(layer) is not TodoListMiddleware)


def _with_harness_state(schema: type[Any] | None) -> type[HarnessState]:
    """Combine the caller's fields with the harness's; `messages` is always the harness's."""
    if schema is None:
        return HarnessState
    fields = get_type_hints(schema, include_extras=True)
    fields |= get_type_hints(HarnessState, include_extras=True)
    return TypedDict(schema.__name__, fields)  # type: ignore[operator, no-any-return]
