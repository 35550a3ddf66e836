"""Graphs that show the browser what no shipped agent does at will."""

from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from bathysphere import AgentSpec, build
from bathysphere.flow import FlowPolicy, flow
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.testing import ScriptedChatModel, calls, says, slowly

ROUNDS = 50
PARAGRAPH = "The **reef** holds: see `depth` and [the log](https://example.org/log). " * 10


class Decision(BaseModel):
    """What may be answered to a plan."""

    type: Literal["approve", "edit", "reject"]
    reason: str = ""
    plan: dict[str, Any] | None = None
    plan_hash: str | None = None


class Dive(BaseModel):
    """The answer to a question that no client knows."""

    depth: int = Field(description="How many metres.")
    crew: Literal["one", "two"] = "two"
    is_ready: bool = False
    note: str = ""


class PlannerState(MessagesState):
    """A plan, and what the person said against it."""

    feedback: str


def plan_for(feedback: str) -> dict[str, Any]:
    search = feedback or "language models on a laptop"
    steps = [
        {"id": "s1", "tool": "web_search", "input": search, "rationale": "To see what is known."},
        {"id": "s2", "tool": "fetch_page", "input": "https://example.org", "depends_on": ["s1"]},
    ]
    return {"objective": f"Find out about {search}", "steps": steps}


def planner() -> Any:
    """Plans, asks, and revises the plan with the reason of a rejection."""

    def gate(state: PlannerState) -> Command[Any]:
        plan = plan_for(state.get("feedback", ""))
        value = {
            "type": "plan_approval",
            "question": "Start with this plan?",
            "plan": plan,
            "plan_hash": "0123456789abcdef",
            "audit_result": {"verdict": "approved", "policy_violations": [], "suggestions": []},
            "difference": None,
            "decisions": ["approve", "edit", "reject"],
        }
        answer = interrupt(value, response_schema=Decision)
        if answer.type == "reject":
            return Command(goto="gate", update={"feedback": answer.reason})
        done = answer.plan or plan
        words = f"Carried out: {done['steps'][0]['input']}."
        return Command(goto=END, update={"messages": [AIMessage(words)]})

    graph = StateGraph(PlannerState)
    graph.add_node("gate", gate)
    graph.add_edge(START, "gate")
    return graph.compile()


def diver() -> Any:
    """Asks something of a type that no client knows, with a schema for the answer."""

    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"type": "dive_check", "site": "Cape Verde"}, response_schema=Dive)
        words = f"Down to {answer.depth} m with {answer.crew}, ready: {answer.is_ready}."
        return {"messages": [AIMessage(words)]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile()


@tool
def look(depth: int) -> str:
    """Look around at a depth."""
    return f"At {depth} m: nothing but snow."


def _long(messages: list[AnyMessage]) -> Any:
    looked = sum(message.type == "tool" for message in messages)
    if looked < ROUNDS:
        return calls("look", {"depth": looked}, id=f"look_{looked}")
    text = "\n\n".join(f"## Part {n}\n\n{PARAGRAPH}" for n in range(280))
    return slowly(says(text), pause=0.0001)


def long() -> Any:
    """Looks fifty times and then writes 200 kB."""
    return create_agent(ScriptedChatModel(answer=_long), tools=[look])


IBAN = "DE89370400440532013000"


@tool
def send_money(to: str, amount: int) -> str:
    """Send money to an account."""
    return f"Sent {amount} to {to}."


def _pay(messages: list[AnyMessage]) -> Any:
    if messages[0].text.startswith("You settle what an assistant may do"):
        return calls("commit_plan", steps=[{"id": "s1", "tool": "send_money", "many": True}])
    if not any(message.type == "tool" for message in messages):
        return calls("read_user_file", file_id="doc-bill")
    person = max(n for n, message in enumerate(messages) if message.type == "human")
    done = [m.text for m in messages[person:] if m.type == "tool" and m.name == "send_money"]
    return says(done[-1]) if done else calls("send_money", to=IBAN, amount=250)


def payer() -> Any:
    """Pays what a bill in the person's documents says, under flow control."""
    spec = AgentSpec(
        name="payer",
        model=ScriptedChatModel(answer=_pay),
        tools=(send_money,),
        middleware=(ClientFilesMiddleware(),),
        flow=FlowPolicy(tools={"send_money": flow(acts=True, to="who", amount="amount")}),
    )
    return build(spec)


GRAPHS = {"payer": payer, "planner": planner, "diver": diver, "long": long}
