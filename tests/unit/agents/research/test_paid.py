"""Research that is paid for: each model call of each node is charged once, or asks for money."""

from langgraph.types import Command
from research_rig import DEEP, QUESTION, Rig, answering, claim

from bathysphere.agents.research.options import ResearchOptions
from bathysphere.core.payments import Bill, Owed, Paid
from bathysphere.core.run_context import RunContext

PRICE = 10


class Purse:
    """A purse in memory: one price a call."""

    max_output = None

    def __init__(self, balance):
        self.balance = balance
        self.charges = {}

    def quote(self, tokens_in):
        return PRICE

    def cost(self, tokens_in, tokens_out):
        return PRICE

    async def charge(self, key, amount):
        if key not in self.charges:
            if self.balance < amount:
                return Owed(balance=self.balance, reason="insufficient")
            self.balance -= amount
            self.charges[key] = None
        return Paid(balance=self.balance, spent=0, answer=self.charges[key])

    async def complete(self, key, amount, answer):
        self.charges[key] = answer
        return Paid(balance=self.balance, spent=0)

    async def void(self, key):
        del self.charges[key]
        self.balance += PRICE

    async def keep(self, key):
        pass

    async def mark_streamed(self, key):
        pass

    async def deposit(self, token):
        self.balance += int(token)

    async def bill(self, needed):
        return Bill(suggested=100, mint="http://mint", unit="sat", request=None)


async def go(rig, given, purse):
    return await rig.graph.ainvoke(
        given, rig.thread, context=RunContext(payments=purse), durability="sync"
    )


async def test_every_call_of_every_node_is_paid_for_once():
    bad = claim("It reached 923 metres.", ("S1", "Words that no page has, not even one."))
    good = {"quotes": [{"source": "S1", "quote": DEEP}]}
    rig, purse = Rig(answering(ReportForm={"claims": [bad, bad]}, RepairForm=good)), Purse(1000)
    await go(rig, {"user_query": QUESTION}, purse)
    done = await go(rig, Command(resume={"type": "approve"}), purse)
    assert done["status"] == "complete"
    asked = sum(rig.model.metadata["asked"].values())
    assert asked == 5  # the plan, the report, two repairs, the judgements
    assert len(purse.charges) == asked
    assert purse.balance == 1000 - PRICE * asked


async def test_without_money_the_run_waits_and_goes_on_when_there_is_some():
    rig, purse = Rig(options=ResearchOptions(rounds=0)), Purse(0)
    waiting = await go(rig, {"user_query": QUESTION}, purse)
    assert waiting["__interrupt__"][0].value["type"] == "payment_exhausted"
    assert rig.model.metadata["asked"]["PlanForm"] == 0
    planned = await go(rig, Command(resume={"token": "15"}), purse)
    assert planned["__interrupt__"][0].value["type"] == "plan_approval"
    broke = await go(rig, Command(resume={"type": "approve"}), purse)
    assert broke["__interrupt__"][0].value["type"] == "payment_exhausted"
    assert sum(rig.pages.asked.values()) == 3
    done = await go(rig, Command(resume={"token": "20"}), purse)
    assert done["status"] == "complete"
    assert sum(rig.pages.asked.values()) == 3
    assert rig.model.metadata["asked"] == {"PlanForm": 1, "ReportForm": 1, "JudgeForm": 1}


async def test_a_person_who_does_not_pay_ends_the_run_readably():
    rig = Rig()
    await go(rig, {"user_query": QUESTION}, Purse(0))
    state = await go(rig, Command(resume={"action": "decline"}), Purse(0))
    assert state["status"] == "failed"
    assert "declined to pay" in state["error_message"]
