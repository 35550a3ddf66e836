"""A tool or subagent that fails or hangs is one call's result; the run and its siblings go on."""

import threading
import time

import pytest
from langchain_core.tools import tool
from trees import WORKER, by_role, calls, results, run, says, send_out, tree

from bathysphere.core.errors import UpstreamError
from bathysphere.core.usage import Limits
from bathysphere.testing import ScriptedChatModel, fails, hangs, together


@tool
def explode(how: str) -> str:
    """Fail."""
    if how == "ours":
        raise UpstreamError("the store did not answer", hint="try again later")
    raise RuntimeError(how)


def test_a_raising_tool_is_a_result_that_the_model_reads(mode):
    model = ScriptedChatModel(script=[calls("explode", how="no luck"), says("I see.")])
    state = run(tree(model, explode), mode)
    assert results(state) == ["The tool `explode` failed: RuntimeError: no luck."]
    assert state["messages"][-2].status == "error"
    assert state["messages"][-1].text == "I see."


def test_our_own_errors_bring_their_hint(mode):
    model = ScriptedChatModel(script=[calls("explode", how="ours"), says("I see.")])
    state = run(tree(model, explode), mode)
    assert results(state) == [
        "The tool `explode` failed: the store did not answer (try again later)."
    ]


def test_a_raising_subagent_leaves_its_siblings_alone(mode):
    def worker(who, n):
        return fails(RuntimeError("lost it")) if who == "b" else says(f"{who} done")

    model = by_role(
        main=lambda n: says("all back") if n else send_out("a", "b", "c"), worker=worker
    )
    state = run(tree(model), mode)
    assert results(state) == [
        "a done",
        "The subagent `worker` failed: RuntimeError: lost it.",
        "c done",
    ]
    assert state["messages"][-1].text == "all back"


def test_a_tool_that_raises_in_a_subagent_stays_in_the_subagent(mode):
    model = by_role(
        main=lambda n: says("all back") if n else send_out("a"),
        worker=lambda who, n: says("worked around it") if n else calls("explode", how="x"),
    )
    state = run(tree(model, explode), mode)
    assert results(state) == ["worked around it"]


def test_a_hanging_subagent_is_cancelled_at_its_time_and_its_siblings_go_on(mode, within):
    def worker(who, n):
        return hangs(30) if who == "b" else says(f"{who} done")

    model = by_role(
        main=lambda n: says("all back") if n else send_out("a", "b", "c"), worker=worker
    )
    start = time.monotonic()
    state = run(tree(model, limits=Limits(subagent_seconds=0.5)), mode)
    within(time.monotonic() - start, 5)
    assert results(state) == [
        "a done",
        "The subagent `worker` failed: timed out after 0.5 seconds.",
        "c done",
    ]
    assert state["messages"][-1].text == "all back"


def test_a_subagent_that_was_given_up_does_nothing_more():
    calls_made = []
    go_on = threading.Event()

    @tool
    def wait(name: str) -> str:
        """Wait, then go on."""
        calls_made.append(name)
        go_on.wait(5)
        return name

    model = by_role(
        main=lambda n: says("all back") if n else send_out("a"),
        worker=lambda who, n: calls("wait", name=f"{who}{n}"),
    )
    run(tree(model, wait, limits=Limits(subagent_seconds=0.3)), "sync")
    asked = len(model.requests)
    go_on.set()
    time.sleep(0.5)
    assert calls_made == ["a0"]
    assert len(model.requests) == asked


@pytest.mark.parametrize("mode", ["async"])
def test_a_hanging_tool_is_cancelled_at_its_time(mode):
    @tool
    async def sleep() -> str:
        """Sleep."""
        import asyncio

        await asyncio.sleep(30)
        return "late"

    @tool
    async def quick() -> str:
        """Answer at once."""
        return "here"

    model = ScriptedChatModel(script=[together(calls("sleep"), calls("quick")), says("ok")])
    state = run(tree(model, sleep, quick, limits=Limits(tool_seconds=0.3)), mode)
    assert results(state) == [
        "The tool `sleep` failed: timed out after 0.3 seconds.",
        "here",
    ]


def test_a_backend_that_raises_does_not_end_the_run(mode):
    from deepagents.backends import StateBackend

    class Broken(StateBackend):
        def read(self, file_path, offset=0, limit=2000):
            raise OSError("disk on fire")

    model = ScriptedChatModel(script=[calls("read_file", file_path="/a"), says("never mind")])
    state = run(tree(model, backend=Broken(), subagents=(WORKER,)), mode)
    assert results(state) == ["The tool `read_file` failed: OSError: disk on fire."]
