"""An agent as anyone writes it: LangChain's `create_agent` with its own approvals, batched."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool

from bathysphere.testing import ScriptedChatModel, calls, says, slowly

LONG = " ".join(f"word{n}" for n in range(1, 121))


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def answer(messages: list[AnyMessage]) -> Any:
    last = messages[-1]
    if last.type == "tool":
        return says(f"Result: {last.text}")
    if last.text.startswith("mail"):
        return calls("send_mail", {"to": "ada@example.org"}, id=f"call_{len(messages)}")
    if last.text.startswith("long"):
        return slowly(says(LONG), pause=0.12)
    return slowly(says(f"You said {last.text} and I say it back in a few more words."), pause=0.1)


graph = create_agent(
    ScriptedChatModel(answer=answer),
    tools=[send_mail],
    middleware=[
        HumanInTheLoopMiddleware({"send_mail": {"allowed_decisions": ["approve", "reject"]}})
    ],
)
