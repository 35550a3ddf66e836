"""The agent asks in the form that the page reads, and the page has the versions that are driven.

The page itself is driven in Chromium by `tests/e2e/frontends/test_frontends.py`.
"""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere import build
from bathysphere.testing import ScriptedChatModel, calls, says

HERE = Path(__file__).parent
DRIVEN = HERE.parents[1] / "tests" / "e2e" / "frontends" / "node" / "package.json"
THREAD = {"configurable": {"thread_id": "1"}}


def test_a_mail_waits_for_decisions_about_all_calls_of_the_turn():
    model = ScriptedChatModel(script=[calls("send_mail", to="ada@example.org"), says("Sent.")])
    mailer = runpy.run_path(str(HERE / "agent.py"))["mailer"]
    agent = build(mailer(SimpleNamespace(main=model)), checkpointer=InMemorySaver())
    [waiting] = agent.invoke({"messages": [("user", "Write to Ada")]}, THREAD)["__interrupt__"]
    [action] = waiting.value["action_requests"]
    assert action["args"] == {"to": "ada@example.org"}
    state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert [message.text for message in state["messages"][-2:]] == [
        "sent to ada@example.org",
        "Sent.",
    ]


def test_the_versions_are_those_that_are_driven():
    ours = json.loads((HERE / "package.json").read_text())["dependencies"]
    driven = json.loads(DRIVEN.read_text())["dependencies"]
    assert ours.items() <= driven.items()
