"""A scripted chat model, for testing agents without an LLM.

`ScriptedChatModel(script=[...])` plays one turn per call and rejects extra calls; `assert_done()`
fails on missing calls. `ScriptedChatModel(answer=rule)` never ends: the rule returns a turn for the
messages, which suits trees of agents that share one model.

Data shared by copies of the model (the position in the script, the requests) is in one `_Record`
with a lock, so that parallel subagents can share a model across threads and tasks.
"""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import thread as pool
from copy import deepcopy
from operator import itemgetter
from typing import Any, Self, TypeAlias

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, ToolCallChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr, SkipValidation, model_validator

from bathysphere.testing.turns import (
    Call,
    ScriptError,
    Turn,
    calls,
    fails,
    hangs,
    refuses,
    says,
    slowly,
    together,
)
from bathysphere.testing.unplanned import EMPTY_PLAN, is_unplanned

__all__ = [
    "Rule",
    "ScriptError",
    "ScriptedChatModel",
    "Turn",
    "calls",
    "fails",
    "hangs",
    "refuses",
    "says",
    "slowly",
    "together",
]

Rule: TypeAlias = Callable[[list[BaseMessage]], Turn]
Bindable: TypeAlias = dict[str, Any] | type | Callable[..., Any] | BaseTool

_WORDS = re.compile(r"\s*\S+\s*|\s+")
_POLL_SECONDS = 0.05
_FOREVER = 365 * 24 * 3600.0


class ScriptedChatModel(BaseChatModel):
    """A chat model that plays `script` or the turns of `answer`, and records its requests.

    Example:
        ```python
        from bathysphere.testing import ScriptedChatModel, says

        model = ScriptedChatModel(script=[says("Hello.")])
        assert model.invoke("Hi").text == "Hello."
        model.assert_done()
        ```
    """

    script: SkipValidation[Sequence[Turn | Rule]] = ()
    """One turn per call, or a function from messages to a turn.

    A planning call of flow control plays a turn only if that is a call of `commit_plan`; otherwise
    the plan is empty, and the call is not recorded.
    """
    answer: SkipValidation[Rule | None] = None
    """A function from messages to turns, as an alternative to `script`."""
    model_name: str = "scripted"

    _record: "_Record" = PrivateAttr(default_factory=lambda: _Record())

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.answer is not None and self.script:
            message = "Pass either script or answer, not both"
            raise ValueError(message)
        return self

    # ── what a test reads ──

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of every call, in order."""
        return self._record.requests

    @property
    def tools_seen(self) -> list[list[str]]:
        """The names of the tools bound at every call, in order."""
        return [[_tool_name(tool) for tool in tools] for tools in self._record.tools]

    def tool_schemas(self, call: int = -1) -> list[dict[str, Any]]:
        """The tools bound at one call (by default the last), in wire format."""
        return [convert_to_openai_tool(tool) for tool in self._record.tools[call]]

    def assert_done(self) -> None:
        """Fail unless the model was called exactly as often as the script has turns."""
        if self.answer is not None:
            return
        calls, length = len(self._record.requests), len(self.script)
        if calls > length:
            message = f"The model was called {calls} times, but the script has {length} turns"
            raise ScriptError(message)
        if calls < length:
            left = "; ".join(_describe(turn) for turn in self.script[calls:])
            message = f"{length - calls} of {length} turns were not requested: {left}"
            raise ScriptError(message)

    def release(self) -> None:
        """Release all synchronous callers blocked by a `hangs()` turn."""
        self._record.released.set()

    # ── what LangChain calls ──

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Bindable], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; their names are recorded with every call."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=_BoundTools(tools), **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Parse answers: a call of the schema's tool, or JSON text where `method` asks for it."""
        if kwargs.get("method") not in ("json_schema", "json_mode"):
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        parser: BaseOutputParser[Any] = JsonOutputParser()
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            parser = PydanticOutputParser(pydantic_object=schema)
        if not include_raw:
            return self | parser
        parsed = RunnablePassthrough.assign(
            parsed=itemgetter("raw") | parser, parsing_error=lambda _: None
        )
        failed = RunnablePassthrough.assign(parsed=lambda _: None)
        return RunnableMap(raw=self) | parsed.with_fallbacks(
            [failed], exception_key="parsing_error"
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        turn = self._take(messages, kwargs)
        self._wait(turn)
        return self._result(messages, turn)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        turn = self._take(messages, kwargs)
        await _await(turn)
        return self._result(messages, turn)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        turn = self._take(messages, kwargs)
        self._wait(turn)
        for chunk in self._chunks(messages, turn):
            yield chunk
            time.sleep(turn.pause)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        turn = self._take(messages, kwargs)
        await _await(turn)
        for chunk in self._chunks(messages, turn):
            yield chunk
            await asyncio.sleep(turn.pause)  # let other tasks run between chunks, as on a network

    # ── playing a turn ──

    def _take(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> Turn:
        tools = kwargs.get("tools")
        names = [_tool_name(tool) for tool in tools or ()]
        if self.answer is None and is_unplanned(names, self._next):
            return EMPTY_PLAN
        calls = self._record.add(messages, getattr(tools, "originals", tools) or ())
        if self.answer is not None:
            return self.answer(messages)
        if calls > len(self.script):
            message = (
                f"call {calls} is one too many: the script has {len(self.script)} turns; "
                f"the last message was {_last(messages)}"
            )
            raise ScriptError(message)
        turn = self.script[calls - 1]
        return turn if isinstance(turn, Turn) else turn(messages)

    @property
    def _next(self) -> Turn | Rule | None:
        """The turn of the script that is played next."""
        played = len(self._record.requests)
        return self.script[played] if played < len(self.script) else None

    def _wait(self, turn: Turn) -> None:
        if not turn.waits:
            return
        end = None if turn.seconds is None else time.monotonic() + turn.seconds
        # Wait in slices so that the interpreter can exit: it joins worker threads.
        while not _leaving():
            left = _POLL_SECONDS if end is None else min(_POLL_SECONDS, end - time.monotonic())
            if left <= 0 or self._record.released.wait(left):
                return

    def _result(self, messages: list[BaseMessage], turn: Turn) -> ChatResult:
        if turn.error is not None:
            raise turn.error
        message = AIMessage(
            content=turn.text,
            tool_calls=[
                ToolCall(
                    name=call.name, args=deepcopy(call.args), id=self._id(call), type="tool_call"
                )
                for call in turn.calls
            ],
            usage_metadata=_usage(messages, turn),
            response_metadata={"model_name": self.model_name, "finish_reason": _reason(turn)},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _chunks(self, messages: list[BaseMessage], turn: Turn) -> Iterator[ChatGenerationChunk]:
        for word in _WORDS.findall(turn.text):
            yield _chunk(content=word)
        if turn.error is not None:
            raise turn.error
        for index, call in enumerate(turn.calls):
            args = json.dumps(call.args)
            head, tail = args[: len(args) // 2], args[len(args) // 2 :]
            yield _call_chunk(index, head, name=call.name, call_id=self._id(call))
            yield _call_chunk(index, tail)
        yield _chunk(
            content="",
            usage_metadata=_usage(messages, turn),
            response_metadata={"model_name": self.model_name, "finish_reason": _reason(turn)},
            chunk_position="last",
        )

    def _id(self, call: Call) -> str:
        return call.id or self._record.next_id()


# ── what outlives a copy ──


class _Record:
    """Data shared by a model, its copies and its bindings."""

    def __init__(self) -> None:
        self.requests: list[list[BaseMessage]] = []
        self.tools: list[Sequence[Any]] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._calls = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Record":
        return self

    def add(self, messages: list[BaseMessage], tools: Sequence[Any]) -> int:
        """Record a request and return the number of earlier ones."""
        with self._lock:
            self.requests.append(list(messages))
            self.tools.append(tools)
            return len(self.requests)

    def next_id(self) -> str:
        """Return the number of the next tool call."""
        with self._lock:
            self._calls += 1
            return f"call_{self._calls}"


class _BoundTools(list[dict[str, Any]]):
    """The bound tools, short enough for callbacks and traces; `originals` are the real ones."""

    def __init__(self, tools: Sequence[Bindable]) -> None:
        super().__init__({"type": "function", "function": {"name": _tool_name(t)}} for t in tools)
        self.originals = tuple(tools)


# ── pure parts ──


def _tool_name(tool: Any) -> str:
    if isinstance(tool, dict):
        function = tool.get("function", tool)
        return str(function.get("name") or function.get("title") or function.get("type"))
    return str(getattr(tool, "name", None) or tool.__name__)


def _describe(turn: Turn | Rule) -> str:
    return str(turn) if isinstance(turn, Turn) else f"rule {getattr(turn, '__name__', turn)!s}"


def _last(messages: list[BaseMessage]) -> str:
    return f"{messages[-1].type}: {messages[-1].text[:200]!r}" if messages else "missing"


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _usage(messages: list[BaseMessage], turn: Turn) -> UsageMetadata:
    """Count one token per four characters, of the request and of the answer."""
    calls = sum(
        len(message.content if isinstance(message.content, str) else message.text)
        for message in messages
    )
    tokens_in, tokens_out = calls // 4, turn.tokens
    return UsageMetadata(
        input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out
    )


def _chunk(**fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(**fields))


def _call_chunk(
    index: int, args: str, *, name: str | None = None, call_id: str | None = None
) -> ChatGenerationChunk:
    part = ToolCallChunk(name=name, args=args, id=call_id, index=index, type="tool_call_chunk")
    return _chunk(content="", tool_call_chunks=[part])


def _leaving() -> bool:
    """Whether the interpreter is shutting down; pools notice this before other threads."""
    return getattr(pool, "_shutdown", False) or not threading.main_thread().is_alive()


async def _await(turn: Turn) -> None:
    if turn.waits:
        await asyncio.sleep(_FOREVER if turn.seconds is None else turn.seconds)
