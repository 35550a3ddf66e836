"""A conversation with the tutor: its graph, a person who answers, and their device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.tutor import TutorConfig, spec
from bathysphere.core.usage import Limits
from bathysphere.device.device import Device
from bathysphere.device.documents import MemoryDocuments
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models

MAX_PAUSES = 20
"""A turn that pauses more often than this is ended."""
LIMITS = Limits(model_calls=40, tool_calls=60, seconds=600)

Answer = Callable[[str], str]
"""Maps a question to the person's answer."""


@dataclass
class Dialogue:
    """A conversation with a tutor, and its results."""

    models: Models
    documents: Mapping[str, str] = field(default_factory=dict)
    """The files on the person's device, by name."""
    accepts: bool = True
    reliability: tuple[Any, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """Everything the person said, including answers to questions."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """All interrupts, in order."""

    def __post_init__(self) -> None:
        self.shelf = MemoryDocuments(self.documents)
        self.device = Device(self.shelf)
        tutor = spec(
            models=self.models, reliability=self.reliability, config=TutorConfig(limits=LIMITS)
        )
        self.graph = build(tutor, checkpointer=InMemorySaver())
        self.config = {"configurable": {"thread_id": "1"}}

    async def say(self, text: str, answer: Answer) -> dict[str, Any]:
        """Send a message, and answer the tutor's requests until the turn ends."""
        self.said.append(text)
        self.state = await self.graph.ainvoke({"messages": [HumanMessage(text)]}, self.config)
        for _ in range(MAX_PAUSES):
            waiting = self.state.get("__interrupt__")
            if not waiting:
                break
            self.asked += [pause.value for pause in waiting]
            answers = {pause.id: self._answer(pause.value, answer) for pause in waiting}
            self.state = await self.graph.ainvoke(Command(resume=answers), self.config)
        return self.state

    def _answer(self, value: dict[str, Any], answer: Answer) -> dict[str, Any]:
        if value["type"] == "tool":
            return self.device.run(value["tool_call"])
        if value["type"] == "tool_approval":
            return {"type": "approve"}
        if value["tool"] == "review_nodes":
            verdict = "accept" if self.accepts else "refuse"
            offered = [option["id"] for option in value["options"]]
            return {"selected": [choice for choice in offered if choice.startswith(verdict)]}
        if "options" in value:
            return {"selected": [value["options"][0]["id"]]}
        said = answer(value["question"])
        self.said.append(said)
        return {"response": said}
