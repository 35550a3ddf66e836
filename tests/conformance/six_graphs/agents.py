"""A bare agent and a deep agent."""

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.tools import tool
from langgraph.types import interrupt
from words import AskingModel


@tool
def confirm(what: str) -> str:
    """Ask the person."""
    return interrupt({"question": f"{what}?"})


bare = create_agent(AskingModel(), tools=[confirm])
deep = create_deep_agent(model=AskingModel(), tools=[confirm])
