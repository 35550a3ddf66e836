"""`create_deep_agent` as people know it, through this harness.

Takes the arguments of deepagents 0.7 and, where they do not collide, the older spelling
(`tools, instructions, model`, subagents with `prompt` and `model_settings`). What comes out is an
`AgentSpec` and goes through `harness.build`, so planning, limits over the tree, failures that stay
local and approvals per call are there without asking. An edge: models that are named by a string,
or not at all, are resolved with the settings of the environment.
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
from bathysphere.models.resolve import Models, resolve
from bathysphere.models.settings import ModelSettings

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
    """Let a first argument that is a list mean the older order, which began with the tools."""

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
    backend: BackendProtocol | None = None,
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
        model: A chat model, `provider:name`, or nothing: then the settings choose, as for every
            agent of this package.
        tools: The agent's own tools, beside planning, files and `task`.
        system_prompt: What the agent is told; the planning guidance is added.
        middleware: The agent's own layers, outermost first.
        subagents: deepagents' `SubAgent` and `CompiledSubAgent` dicts, or the older ones.
        skills: Where skills are, for the agent and its general-purpose subagent.
        memory: Files whose text stands in the prompt.
        permissions: Which paths may be read and written; the first rule that matches counts.
        backend: Where the files are; in graph state if not given.
        interrupt_on: Tools that wait for the person's word, in the whole tree, one by one.
            Where the backend offers a shell, `execute` is one of them unless it is False here.
        response_format: The schema of a structured answer.
        state_schema: More fields of graph state, shared with the subagents.
        context_schema: What `context` holds at run time.
        checkpointer: Where threads are kept.
        store: LangGraph's store.
        debug: LangGraph's debug output.
        name: The agent's name.
        cache: LangGraph's node cache.
        instructions: The older name of `system_prompt`.
        config_schema: The older name of `context_schema`.

    Raises:
        CallerError: If an argument cannot be understood.
        ConfigError: If a model cannot be built, or two tools have the same name.
    """
    _check_backend(backend)
    parts = _Parts.of(model)
    spec = AgentSpec(
        name=name or "deep-agent",
        model=parts.main,
        subagent_model=parts.subagent,
        summary_model=parts.summary,
        prompt=_prompt(system_prompt, instructions),
        tools=tuple(tools or ()),
        subagents=_subagents(subagents, parts, skills or ()),
        backend=backend or ScratchBackend(),
        middleware=(*parts.layers, *_without_planning(middleware)),
        approvals=interrupt_on or {},
        skills=tuple(skills or ()),
        memory=tuple(memory or ()),
        permissions=tuple(permissions or ()),
        response_format=response_format,
        state_schema=_with_harness_state(state_schema),
        context_schema=context_schema or config_schema,
        requires_writers=False,  # the caller's own fields are theirs to declare, or not
    )
    return build(spec, checkpointer=checkpointer, store=store, cache=cache, debug=debug)


# ── models ──


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """The models, and the layers of those that we resolved."""

    main: BaseChatModel
    subagent: BaseChatModel | None = None
    summary: BaseChatModel | None = None
    settings: ModelSettings | None = None
    layers: tuple[Layer, ...] = ()

    @classmethod
    def of(cls, model: object) -> "_Parts":
        """Leave a model as it is; find a named one, or that of the settings."""
        if isinstance(model, BaseChatModel):
            return cls(main=model)
        if model is not None and not isinstance(model, str):
            kind = type(model).__name__
            raise CallerError(
                f"model is a {kind}, which is neither a chat model nor a name",
                hint="give a chat model or provider:name",
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
        return cls(main=resolve(model, settings), settings=settings, layers=reliability(settings))

    def of_subagent(self, sub: Mapping[str, Any]) -> BaseChatModel | None:
        """The model of a subagent: its own, by name or by the older `model_settings`."""
        extra = dict(sub.get("model_settings") or {})
        model: str | BaseChatModel | None = sub.get("model") or extra.pop("model", None)
        if isinstance(model, str):
            model = resolve(model, self.settings or ModelSettings.from_environment(), retries=2)
        if not extra:
            return model
        return _tuned(model or self.subagent or self.main, extra, sub["name"])


_TUNABLE = ("temperature", "max_tokens", "top_p")


def _tuned(model: BaseChatModel, extra: Mapping[str, Any], name: str) -> BaseChatModel:
    """A copy of a model with other sampling; anything else needs a model of the caller's own."""
    cannot = [key for key in extra if key not in _TUNABLE or key not in type(model).model_fields]
    if cannot:
        raise CallerError(
            f"subagent '{name}': model_settings {', '.join(sorted(cannot))} cannot be applied",
            hint=f"only model, {', '.join(_TUNABLE)}; else build the chat model and give it as "
            "`model`",
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
) -> tuple[SubagentSpec | CompiledSubagent, ...]:
    given = tuple(_subagent(sub, parts) for sub in subagents or ())
    names = [sub.name for sub in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CallerError(f"two subagents are called '{twice[0]}'", hint="rename one of them")
    if GENERAL_PURPOSE.name in names:
        return given
    return (replace(GENERAL_PURPOSE, skills=tuple(skills), middleware=parts.layers), *given)


def _subagent(sub: Mapping[str, Any], parts: _Parts) -> SubagentSpec | CompiledSubagent:
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
        tools=None if sub.get("tools") is None else tuple(sub["tools"]),
        middleware=(*parts.layers, *_without_planning(sub.get("middleware") or ())),
        approvals=sub.get("interrupt_on"),
        skills=tuple(sub.get("skills") or ()),
        permissions=None if own_rules is None else tuple(own_rules),
        response_format=sub.get("response_format"),
    )


def _check_subagent(sub: Mapping[str, Any]) -> None:
    name = sub.get("name")
    if not name or not sub.get("description"):
        raise CallerError(
            f"subagent {name or dict(sub)!r} needs a name and a description",
            hint="the main agent chooses by them",
        )
    if "graph_id" in sub:
        raise CallerError(
            f"subagent '{name}' is a remote one (graph_id), which this harness does not run",
            hint="give a CompiledSubAgent that calls it",
        )
    known = _COMPILED_KEYS if "runnable" in sub else _KEYS
    unknown = sorted(set(sub) - known)
    if unknown:
        raise CallerError(
            f"subagent '{name}' has unknown keys: {', '.join(unknown)}",
            hint=f"known are {', '.join(sorted(known))}",
        )
    if sub.get("mode", "isolated") != "isolated":
        raise CallerError(
            f"subagent '{name}' has mode '{sub['mode']}'; only 'isolated' is supported",
            hint="leave `mode` out and give the subagent what it needs in its task",
        )


# ── the rest ──


def _prompt(system_prompt: str | SystemMessage | None, instructions: str | None) -> str:
    if system_prompt is not None and instructions is not None:
        raise CallerError(
            "system_prompt and instructions were both given", hint="give system_prompt"
        )
    prompt = instructions if system_prompt is None else system_prompt
    return prompt.text if isinstance(prompt, SystemMessage) else prompt or ""


def _check_backend(backend: object) -> None:
    if backend is not None and not isinstance(backend, BackendProtocol):
        raise CallerError(
            f"backend is a {type(backend).__name__}, not a backend",
            hint="give an instance; factories are gone since deepagents 0.7",
        )


def _without_planning(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Leave LangChain's todo list out: every agent of this harness plans already."""
    return tuple(layer for layer in layers if type(layer) is not TodoListMiddleware)


def _with_harness_state(schema: type[Any] | None) -> type[HarnessState]:
    """The caller's fields beside the harness's; `messages` is always the harness's."""
    if schema is None:
        return HarnessState
    fields = get_type_hints(schema, include_extras=True)
    fields |= get_type_hints(HarnessState, include_extras=True)
    return TypedDict(schema.__name__, fields)  # type: ignore[operator, no-any-return]
