"""A graph whose every kind of stored value has a word in it, and databases with keys."""

import base64
import secrets
from dataclasses import replace
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import psycopg
from engine_rig import ALICE, Rig
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from bathysphere.core.effects import EffectKey
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.keys import MasterKeys
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.state import merge_messages


def new_key(key_id: str) -> str:
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


def encrypted(database: Database, *keys: str, **options: Any) -> Database:
    """The database with these keys."""
    return replace(database, encryption=Encryption(MasterKeys.parse(",".join(keys)), **options))


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    said: Annotated[list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=2)]
    word: str
    number: int
    flag: bool
    parts: list[str]
    answer: Any


async def use_tool(state: State, runtime: Runtime[Any]) -> State:
    word = state["word"]
    effects = runtime.context.effects
    key = EffectKey(namespace="", task="tool", call="call")
    await effects.begin(key)
    await effects.finish(key, {"result": word})
    result = ToolMessage(f"found {word}", tool_call_id="call")
    return {"messages": [result], "said": [AIMessage(f"tool: {word}")], "parts": [word]}


async def talk(state: State) -> State:
    return {"said": [AIMessage(f"again: {state['word']}")], "number": 31337, "flag": True}


async def ask(state: State) -> State:
    answer = interrupt({"question": f"Is it {state['word']}?"})
    return {"answer": answer, "messages": [AIMessage(f"so it is {state['word']}")]}


def make_graph() -> Any:
    graph = StateGraph(State)
    names = {"use_tool": use_tool, "talk": talk, "talk_again": talk, "ask": ask}
    for name, node in names.items():
        graph.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        graph.add_edge(before, after)
    return graph.compile()


GRAPHS = Graphs({"secret": make_graph})


async def converse(rig: Rig, word: str, *, owner: Owner = ALICE) -> Any:
    """A thread with an answered question; a worker must be running."""
    thread = uuid4()
    values = {"word": word, "messages": [HumanMessage(f"my {word}", id=word[:8]).model_dump()]}
    run = await rig.start(thread, "secret", owner=owner, input=values)
    assert (await rig.ended(run)).status == "interrupted"
    return thread


async def answer(rig: Rig, thread: Any, word: str, *, owner: Owner = ALICE) -> Any:
    (question,) = await rig.answers.pending(thread, owner=owner, graph="secret")
    given = await rig.answers.submit(thread, {question: {"yes": word}}, owner=owner, graph="secret")
    return await rig.ended(given.run)


async def state_of(rig: Rig, thread: Any, *, owner: Owner = ALICE) -> Any:
    return await rig.services.states.read(thread, owner=owner)


def execute(database: Database, statement: str, *values: Any) -> list[Any]:
    with psycopg.connect(database.url, autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
