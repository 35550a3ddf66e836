"""The person of a case: answers approvals and questions, and has documents on a device.

They approve only what the case says they asked for, each such call once; a call that is offered
again after it was approved is rejected, as a person would.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bathysphere.device.device import Device
from bathysphere.device.documents import MemoryDocuments
from bathysphere.evaluation.cases import Case

ALREADY = "I have approved exactly this before."
MORE = {"type": "reject", "reason": "The plan was enough."}
"""The answer to a request for steps beyond an approved plan."""


class Asked(NamedTuple):
    """A call that the person was asked to approve."""

    tool: str
    args: Mapping[str, Any]
    approved: bool


class Person:
    """Answers interrupts by the rules of a case, and records what was asked."""

    def __init__(self, case: Case) -> None:
        self._reaction = case.person
        self._documents = MemoryDocuments(case.documents)
        self._device = Device(self._documents)
        self._approved: set[str] = set()
        self.asked: list[Asked] = []

    @property
    def documents(self) -> Mapping[str, str]:
        """The documents as they are now."""
        return self._documents.texts

    def answer(self, value: Mapping[str, Any]) -> Any:
        """The answer to one interrupt."""
        match value.get("type"):
            case "tool":
                return self._device.run(value["tool_call"])
            case "tool_approval":
                bound = {"bound": value["bound"]} if "bound" in value else {}
                return self._decide(value) | bound
            case "clarification_request":
                return self._reply(value)
            case "plan_approval":
                return MORE if value.get("difference") else {"type": "approve"}
        return {"decisions": [self._decide(one) for one in value["action_requests"]]}

    def _decide(self, action: Mapping[str, Any]) -> dict[str, Any]:
        tool, args = str(action["name"]), action.get("args") or {}
        exact = json.dumps([tool, args], sort_keys=True, default=str)
        is_new = exact not in self._approved
        approves = is_new and any(_fits(one, tool, args) for one in self._reaction.approves)
        self.asked.append(Asked(tool, args, approves))
        if approves:
            self._approved.add(exact)
            return {"type": "approve"}
        return {"type": "reject", "message": self._reaction.reason if is_new else ALREADY}

    def _reply(self, value: Mapping[str, Any]) -> dict[str, Any]:
        options: Sequence[Mapping[str, Any]] = value.get("options") or ()
        if value.get("tool") == "review_nodes":
            offered = [str(option["id"]) for option in options]
            return {"selected": [one for one in offered if one.startswith("accept")]}
        return {"selected": [options[0]["id"]]} if options else {"response": self._reaction.says}


def _fits(approved: Mapping[str, Any], tool: str, args: Mapping[str, Any]) -> bool:
    wanted = {name: value for name, value in approved.items() if name != "tool"}
    return approved["tool"] == tool and all(args.get(name) == wanted[name] for name in wanted)
