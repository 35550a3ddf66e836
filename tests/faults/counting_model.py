"""A model that keeps its own books, in a table beside the engine, and a graph that asks it.

A call is in the books as soon as the model is asked, with its input; its output is added when it
has answered.
"""

import asyncio
import os
import random
import threading
from functools import cache
from typing import Any
from uuid import UUID

import psycopg
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph

BOOKS = (
    "CREATE TABLE asked (call_id uuid PRIMARY KEY, run_id uuid, input_tokens int,"
    " output_tokens int)"
)
MOST_MS = 40.0
PARALLEL = ("left", "right")
CALLS = 3 + len(PARALLEL)
"""Model calls of a run that nobody disturbs."""


class Books:
    """The model's own count; one connection per process."""

    def __init__(self, url: str) -> None:
        self._lock = threading.Lock()
        self._connection = psycopg.connect(url, autocommit=True)

    def ask(self, call_id: UUID, run_id: str, tokens: int) -> None:
        with self._lock:
            self._connection.execute(
                "INSERT INTO asked VALUES (%s, %s, %s)", (call_id, run_id, tokens)
            )

    def answer(self, call_id: UUID, tokens: int) -> None:
        with self._lock:
            self._connection.execute(
                "UPDATE asked SET output_tokens = %s WHERE call_id = %s", (tokens, call_id)
            )


@cache
def books(url: str, pid: int) -> Books:  # a connection does not survive a fork
    return Books(url)


class CountingModel(BaseChatModel):
    """Answers after some milliseconds, and writes down what it was asked."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # LangChain's signature
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        own = books(self.url, os.getpid())
        call_id, run_id = run_manager.run_id, run_manager.metadata["engine_run"]
        asked, answered = count_tokens_approximately(messages), random.randint(1, 99)
        await asyncio.to_thread(own.ask, call_id, run_id, asked)
        await asyncio.sleep(random.uniform(0, MOST_MS / 1000))
        await asyncio.to_thread(own.answer, call_id, answered)
        usage = {
            "input_tokens": asked,
            "output_tokens": answered,
            "total_tokens": asked + answered,
        }
        answer = AIMessage("Forty metres. " * random.randint(1, 9), usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def counting_graph(url: str) -> Any:
    """Three calls one after the other, then two at once."""
    model = CountingModel(url=url)

    async def ask(state: MessagesState, config: RunnableConfig) -> Any:
        own = {"metadata": {"engine_run": config["metadata"]["run_id"]}}
        return {"messages": [await model.ainvoke(state["messages"], own)]}

    graph = StateGraph(MessagesState)
    names = ("first", "second", "third")
    for name in (*names, *PARALLEL):
        graph.add_node(name, ask)
    for before, after in zip((START, *names), names, strict=False):
        graph.add_edge(before, after)
    for name in PARALLEL:
        graph.add_edge(names[-1], name)
    return graph.compile()
