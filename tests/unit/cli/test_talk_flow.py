"""Questions of flow control in the terminal: where each value came from, and its passage."""

import io

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.session import Session
from bathysphere.flow import FlowPolicy, flow
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

BILL = "Invoice 12\nPay 250 EUR to DE89 by\u202e Friday."
PAGES = {"bill": BILL, "other": "Pay 90 EUR to CH93 now."}


class Bank:
    """Tools that read bills and pay, and what was paid."""

    def __init__(self):
        self.paid = paid = []

        @tool
        def read_bill(name: str) -> str:
            """Read a bill."""
            return PAGES[name]

        @tool
        def pay(to: str, amount: int) -> str:
            """Pay."""
            paid.append((to, amount))
            return "Paid."

        self.tools = (read_bill, pay)


POLICY = FlowPolicy(tools={"read_bill": flow(), "pay": flow(acts=True, to="who", amount="amount")})
PLAN = [{"id": "s1", "tool": "pay", "many": True}]


def scripted(*turns):
    """A model that plans to pay, and then plays turns."""
    left = iter(turns)

    def answer(messages):
        if messages[0].text.startswith("You settle what an assistant may do"):
            return calls("commit_plan", steps=PLAN)
        return next(left)

    return ScriptedChatModel(answer=answer)


@pytest.fixture
def bank():
    return Bank()


def talk(bank, turns, *lines):
    """Have a talk in which the person types lines; what the terminal shows."""
    out = io.StringIO()
    screen = Screen(out=out, source=io.StringIO("".join(f"{line}\n" for line in lines)))
    spec = AgentSpec(name="t", model=scripted(*turns), tools=bank.tools, flow=POLICY)
    session = Session(
        graph=build(spec, checkpointer=InMemorySaver()),
        screen=screen,
        answers=Answers(screen=screen),
        has_map=False,
    )
    assert session.talk(agent="t", model="scripted", is_default=False) == 0
    return out.getvalue()


READ, PAY = calls("read_bill", name="bill"), calls("pay", to="DE89", amount=250)


def test_each_value_is_shown_with_its_source_and_passage(bank):
    shown = talk(bank, [READ, PAY, says("Done.")], "Pay the bill", "approve")
    place = "came from the result of “read bill” (bill), line 2; you did not mention it."
    assert f"! DE89 — this recipient {place}" in shown
    assert f"! 250 — this amount {place}" in shown
    assert "Pay »250« EUR to DE89 by⟨U+202E⟩ Friday." in shown
    assert "Pay 250 EUR to »DE89« by⟨U+202E⟩ Friday." in shown
    assert bank.paid == [("DE89", 250)]


def test_a_rejected_call_does_not_run(bank):
    talk(bank, [READ, PAY, says("Done.")], "Pay the bill", "reject", "")
    assert bank.paid == []


def test_a_source_is_trusted_listed_and_taken_back(bank):
    turns = [READ, PAY, says("Paid."), PAY, says("Again."), PAY, says("Asked.")]
    lines = ["Pay the bill", "trust", "/trusted", "Pay again", "/untrust 2", "/untrust 1"]
    shown = talk(bank, turns, *lines, "/trusted", "Pay once more", "reject", "", "/trusted")
    assert bank.paid == [("DE89", 250)] * 2
    assert "1  the result of “read bill” (bill)" in shown
    assert "Unknown source: 2." in shown
    assert "No longer trusted: the result of “read bill” (bill)." in shown
    assert shown.count("You trust no source in this conversation.") == 2


def test_only_the_sources_that_were_chosen_are_trusted(bank):
    other, both = calls("read_bill", name="other"), calls("pay", to="DE89", amount=90)
    turns = [READ, other, both, says("Paid.")]
    shown = talk(bank, turns, "Pay both", "trust", "3", "2", "/trusted")
    assert "2  the result of “read bill” (other)" in shown
    assert "1  the result of “read bill” (other)" in shown.rpartition("Paid.")[2]
    assert bank.paid == [("DE89", 90)]
