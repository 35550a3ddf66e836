"""Graphs without an agent: a question in a subgraph, a function, and a graph made for each run."""

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.types import interrupt


def ask(state: MessagesState) -> dict:
    decided = interrupt({"question": f"{state['messages'][-1].text}?"})
    return {"messages": [AIMessage(f"You decided: {decided}")]}


inner = StateGraph(MessagesState)
inner.add_node("ask", ask)
inner.add_edge(START, "ask")

nested = StateGraph(MessagesState)
nested.add_node("inner", inner.compile())
nested.add_edge(START, "inner")


@task
def answer(decided: str) -> AIMessage:
    return AIMessage(f"You decided: {decided}")


@entrypoint()
def function(said: dict, *, previous: dict | None = None) -> dict:
    """Ask, and remember the conversation."""
    before: list[AnyMessage] = (previous or {}).get("messages", [])
    message = HumanMessage(said["messages"][-1]["content"])
    decided = interrupt({"question": f"{message.text}?"})
    return {"messages": add_messages(before, [message, answer(decided).result()])}


@entrypoint()
def count(words: str) -> int:
    """Count letters."""
    return len(words)


def per_run(config: RunnableConfig) -> StateGraph:
    """Made for each run."""
    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph
