"""The tour as a chat model: it streams word by word and calls the agent's real tools.

For structured output, as the research agent requests it, it answers by the rules of `research.py`.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from bathysphere.models.demo import research, team_tour, tour, tutor_tour
from bathysphere.models.demo.past import TourTurn
from bathysphere.models.names import DEMO_TOUR

_WORDS = re.compile(r"(?:(?<!\s)\s++)?\S++\s*+")


PLANNING_TOOL = "commit_plan"


class DemoTourModel(BaseChatModel):
    """Walks a new user through an agent's tools, and states plainly that it is not an AI."""

    pause_s: float = 0
    """Seconds between two streamed words."""

    @property
    def _llm_type(self) -> str:
        return "demo-tour"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; the tour only uses their names and ignores `tool_choice`."""
        del tool_choice
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Answer in JSON; the schema's title selects the rule."""
        if kwargs.get("method") != "json_schema" or not (include_raw and isinstance(schema, dict)):
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        return self.bind(form=schema.get("title", ""))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        turn = _next_turn(messages, kwargs)
        calls = [tool_call(name=turn.tool, args=turn.args, id=turn.call_id)] if turn.step else []
        message = AIMessage(content=turn.text, tool_calls=calls, response_metadata=_ABOUT)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(_next_turn(messages, kwargs)):
            yield chunk
            time.sleep(self.pause_s)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(_next_turn(messages, kwargs)):
            yield chunk
            await asyncio.sleep(self.pause_s)


_ABOUT = {"model_name": DEMO_TOUR}


def _next_turn(messages: list[BaseMessage], kwargs: dict[str, Any]) -> TourTurn:
    if "form" in kwargs:
        return TourTurn(text=research.answer(kwargs["form"], messages[-1].text))
    tools = _names(kwargs)
    if tools == {PLANNING_TOOL}:  # a planning call of flow control is no step of the tour
        return TourTurn(text="", step="plan", tool=PLANNING_TOOL, args={"steps": []})
    if tutor_tour.is_tutor(tools):
        return tutor_tour.next_turn(messages, tools)
    decide = team_tour.next_turn if team_tour.is_team(messages, tools) else tour.next_turn
    return decide(messages, tools)


def _names(kwargs: dict[str, Any]) -> frozenset[str]:
    return frozenset(
        tool.get("function", tool).get("name", "") for tool in kwargs.get("tools") or ()
    )


def _chunks(turn: TourTurn) -> Iterator[ChatGenerationChunk]:
    for word in _WORDS.findall(turn.text):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    calls = []
    if turn.step:
        args = json.dumps(turn.args)
        calls = [tool_call_chunk(name=turn.tool, args=args, id=turn.call_id, index=0)]
    last = AIMessageChunk(
        content="", tool_call_chunks=calls, response_metadata=_ABOUT, chunk_position="last"
    )
    yield ChatGenerationChunk(message=last)
