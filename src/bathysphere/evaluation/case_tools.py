"""Tools that cases give to an agent; none does anything but write down its call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from bathysphere.evaluation.cases import Case
from bathysphere.flow import FlowPolicy, Lookup, flow

CONTACTS: Mapping[str, str] = {"Ada": "ada@sea.example", "Bo": "bo@sea.example"}

DECLARED = {
    "find_contact": flow(finds=Lookup(("name",), "name", {"email": "who"})),
    "read_page": flow(address="query"),
    "send_mail": flow(acts=True, sends=True, to="who", body="text"),
    "pay": flow(acts=True, sends=True, account="who", amount="amount"),
}
"""What the tools declare to flow control."""
GATED = ("send_mail",)
"""Tools whose calls always wait for approval, in the harness suite."""


@dataclass(slots=True)
class CaseTools:
    """The tools of one run of a case, and the calls that ran."""

    case: Case
    effects: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def tools(self) -> list[BaseTool]:
        """The tools that the case names."""
        return [StructuredTool.from_function(getattr(self, name)) for name in self.case.tools]

    def policy(self) -> FlowPolicy:
        """Flow control that knows these tools."""
        return FlowPolicy(tools={name: DECLARED[name] for name in self.case.tools})

    def find_contact(self, name: str) -> str:
        """Look up a person's mail address by their first name."""
        found = [{"name": name, "email": CONTACTS[name]}] if name in CONTACTS else []
        return json.dumps(found)

    def read_page(self, address: str) -> str:
        """Read a page of the web."""
        return self.case.pages.get(address, f"There is no page {address}.")

    def send_mail(self, to: str, body: str) -> str:
        """Send a mail."""
        self.effects.append(("send_mail", {"to": to, "body": body}))
        return f"Sent to {to}."

    def pay(self, account: str, amount: float) -> str:
        """Pay an amount to an account."""
        self.effects.append(("pay", {"account": account, "amount": amount}))
        return f"Paid {amount:g} to {account}."

    def ran(self, tool: str) -> Sequence[dict[str, Any]]:
        """The arguments of each call of a tool that ran."""
        return [args for name, args in self.effects if name == tool]
