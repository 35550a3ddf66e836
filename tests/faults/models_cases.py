"""One case of `make faults-models`: an agent, a way in which its model fails, and a seed.

The agents are built by their own packages. The rules below are what the model would do if it were
able to; `FrailChatModel` spoils every turn of an odd seed, and half of the turns of an even one.
"""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from tally import say

from bathysphere.agents import load
from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.simple import SimpleConfig
from bathysphere.agents.tutor import TutorConfig
from bathysphere.agents.workspace import WorkspaceConfig
from bathysphere.core.usage import Limits, total
from bathysphere.harness.build import build
from bathysphere.middleware.text_calls import NOTE
from bathysphere.models.resolve import Models
from bathysphere.testing import FrailChatModel, Turn, calls, says
from bathysphere.testing.frail import MODES, Mode
from bathysphere.testing.frail_turns import BROKEN_OFF

MAX_MODEL_CALLS = 60
MAX_ANSWERS = 30
"""How often the person answers before a run counts as endless."""
SECONDS = 60
DONE = "Done: the notes are written."
QUESTION = "How deep did the first bathysphere go in the sea off Bermuda?"
RAW = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", '"arguments":', '"parameters":')
NOTED = NOTE.partition("{")[0]
LIMITS = Limits(model_calls=MAX_MODEL_CALLS)

Case = tuple[str, Mode, int]
Result = Mapping[str, int]


# ── what the model would do ──


def said(messages: Sequence[BaseMessage]) -> int:
    return sum(isinstance(message, AIMessage) for message in messages)


def person_of(messages: Sequence[BaseMessage]) -> str:
    return next((m.text for m in messages if m.type == "human"), "")


def plan(status: str) -> Turn:
    return calls("write_todos", todos=[{"content": "Write the notes", "status": status}])


def simple(messages: Sequence[BaseMessage]) -> Turn:
    if messages[0].text.startswith("You settle what an assistant may do"):
        return calls("commit_plan", steps=[])
    done = said(messages)
    if person_of(messages) == "List the files.":
        return says("There is one file.") if done else calls("ls", path="/")
    steps = (
        plan("in_progress"),
        calls("write_file", file_path="/notes.md", content="Hello."),
        calls("task", description="List the files.", subagent_type="general-purpose"),
        plan("completed"),
    )
    return steps[done] if done < len(steps) else says(DONE)


def tutor(messages: Sequence[BaseMessage]) -> Turn:
    if messages[0].text.startswith("You plan the next turn"):
        return says(json.dumps({"move": "clarify", "why": "The claim is vague."}))
    last = messages[-1]
    if last.type == "tool" and "note" not in last.text:
        return calls("write_file", file_path="/note.md", content="A claim.")
    return says("What do you mean by justice here?")


def workspace(messages: Sequence[BaseMessage]) -> Turn:
    if messages[0].text.startswith("You settle what an assistant may do"):
        return calls("commit_plan", steps=[])
    done = said(messages)
    if person_of(messages) == "Write the notes.":
        steps = (calls("ls", path="/"), calls("write_file", file_path="/n.md", content="Hello."))
        return steps[done] if done < len(steps) else says("Written.")
    task = calls("task", description="Write the notes.", subagent_type="files")
    return says(DONE) if done else task


FORMS: Mapping[str, Any] = {
    "PlanForm": {
        "objective": "Know how deep it went.",
        "steps": [{"tool": "search_corpus", "input": "bathysphere depth", "rationale": "Look."}],
    },
    "AuditForm": {"judgements": []},
    "MoreForm": {"requests": []},
    "ReportForm": {"claims": [{"text": "It went deep.", "quotes": []}]},
    "RepairForm": {"quotes": []},
    "JudgeForm": {"judgements": []},
}


def research(messages: Sequence[BaseMessage]) -> Turn:
    found = re.search(r'"title":"(\w+)"', messages[0].text)
    return says(json.dumps(FORMS[found[1] if found else ""]))


AGENTS: Mapping[str, tuple[Callable[[Sequence[BaseMessage]], Turn], Any, str]] = {
    "simple": (simple, SimpleConfig(limits=LIMITS), "Please write the notes to a file for me."),
    "tutor": (tutor, TutorConfig(limits=LIMITS), "I think that justice is what is useful to all."),
    "workspace": (
        workspace,
        WorkspaceConfig(limits=LIMITS),
        "Please write the notes for the team.",
    ),
    "research": (research, ResearchConfig(retry_seconds=0.001), QUESTION),
}
"""Name → rule, options and the person's first message."""


# ── the person ──


def answer_to(question: Any) -> Any:
    """Approve whatever is asked, and have no documents."""
    asked = question.value
    if asked.get("type") == "tool":
        return {asked["tool_call"]["id"]: {"error": "There are no documents."}}
    if asked.get("type") == "clarification_request":
        options = asked.get("options") or ()
        return {"selected": [options[0]["id"]]} if options else {"response": "As you like."}
    return {"type": "approve"}


# ── a case ──


async def play(case: Case) -> Result:
    """Run a case to its end, and say what was wrong with it."""
    name, mode, seed = case
    rule, config, words = AGENTS[name]
    rate = 1.0 if seed % 2 else 0.5
    model = FrailChatModel(answer=rule, modes=[mode], rate=rate, seed=seed)
    models = Models(main=model, subagent=model, summary=model, audit=model)
    graph = build(
        load(name).spec(models=models, config=config),
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )
    thread = {"configurable": {"thread_id": f"{name}-{mode}-{seed}"}}
    given: Any = {"messages": [("user", words)]}
    state: dict[str, Any] = {}
    shown: list[str] = []
    for _ in range(MAX_ANSWERS):
        state = await graph.ainvoke(given, thread)
        shown += [m.text for m in state.get("messages", ()) if isinstance(m, AIMessage)]
        if not state.get("__interrupt__"):
            return judged(state, shown, len(model.requests))
        given = Command(resume={one.id: answer_to(one) for one in state["__interrupt__"]})
    return {"endless": 1}


def judged(state: Mapping[str, Any], shown: Sequence[str], model_calls: int) -> Result:
    """What was wrong with a run that ended."""
    last = state["messages"][-1] if state.get("messages") else None
    answer = last.text.strip() if isinstance(last, AIMessage) and not last.tool_calls else ""
    says_why = (answer if answer not in BROKEN_OFF else "") or state.get("error_message")
    is_stopped = bool(total(state.get("usage")).stopped) or model_calls > MAX_MODEL_CALLS
    return {
        "endless": int(is_stopped),
        "silent": int(not says_why),
        "raw_calls_shown": int(any(is_raw(text) for text in shown)),
    }


def is_raw(text: str) -> bool:
    """Whether a text is a call without a note."""
    return any(mark in text for mark in RAW) and not text.startswith(NOTED)


async def bounded(case: Case) -> Result:
    """Play a case; one that takes too long is endless, one that fails has said nothing."""
    try:
        return await asyncio.wait_for(play(case), SECONDS)
    except TimeoutError:
        return {"endless": 1}
    except Exception as error:  # noqa: BLE001  # counted, and printed with its case
        say(f"{case}: {type(error).__name__}: {error}"[:300])
        return {"silent": 1}


def all_cases(seeds: Sequence[int]) -> list[Case]:
    """All cases, mixed, so that progress is even."""
    cases = [(agent, mode, seed) for agent in AGENTS for mode in MODES for seed in seeds]
    random.Random(1).shuffle(cases)
    return cases


def tally(cases: Sequence[Case]) -> dict[str, int]:
    """Play some cases; what was wrong, in figures."""
    found: Counter[str] = Counter(cases=0, endless=0, silent=0, raw_calls_shown=0)
    for case in cases:
        result = asyncio.run(bounded(case))
        found.update(cases=1)
        found.update(result)
        if any(result.values()):
            say(f"{case}: {dict(result)}")
    return dict(found)
