"""What flow control costs: CPU per call at 20 KiB results, stored bytes, model calls.

Each figure compares an agent with flow control and one without, on the same scripted turns. Last
line: JSON.
"""

import argparse
import json
import statistics
import time

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere.flow import Call, FlowPolicy, flow, ledger, merge
from bathysphere.flow.plan import read_steps
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.flow.claims import Claims
from bathysphere.middleware.flow.results import learned
from bathysphere.testing import ScriptedChatModel, calls, says

PLAN = [{"id": "s1", "tool": "look", "many": True}]
POLICY = FlowPolicy(tools={"look": flow(acts=True, text="text")})
CONFIG = {"configurable": {"thread_id": "1"}, "recursion_limit": 10_000}


@tool
def look(text: str) -> str:
    """Look something up."""
    return f"{text} https://x.example/{text}\n" * 70


def model(iterations: int) -> ScriptedChatModel:
    def answer(messages: list[BaseMessage]):
        if messages[0].text.startswith("You settle what an assistant may do"):
            return calls("commit_plan", steps=PLAN)
        done = sum(isinstance(message, AIMessage) for message in messages)
        return says("done") if done >= iterations else calls("look", text=f"t{done}")

    return ScriptedChatModel(answer=answer)


def stored(iterations: int, policy: FlowPolicy | None) -> tuple[int, int]:
    """The bytes of a thread's checkpoints and writes, and its model calls."""
    saver, scripted = InMemorySaver(), model(iterations)
    agent = AgentSpec(name="bench", model=scripted, tools=(look,), flow=policy)
    build(agent, checkpointer=saver).invoke({"messages": [("user", "go")]}, CONFIG)
    blobs = sum(len(data) for _, data in saver.blobs.values())
    writes = sum(len(w[2][1]) for each in saver.writes.values() for w in each.values())
    steps = sum(
        len(each[0][1]) + len(each[1][1])
        for spaces in saver.storage.values()
        for found in spaces.values()
        for each in found.values()
    )
    return blobs + writes + steps, len(scripted.requests)


def per_call(rounds: int) -> float:
    """Median milliseconds of judging a call and reading its result of 20 KiB."""
    text = ("A line with words and https://x.example/page in it.\n" * 400)[: 20 * 1024]
    known = merge(ledger.said("m", "go"), ledger.planned("r", read_steps(PLAN)))
    known = merge(known, ledger.marked("untrusted"))
    taken = []
    for number in range(rounds):
        call = {"name": "look", "args": {"text": "a"}, "id": str(number)}
        message = ToolMessage(text, tool_call_id=call["id"], name="look")
        start = time.perf_counter()
        Claims("r").decide([Call(call["id"], "look", call["args"])], known, POLICY, is_main=True)
        learned(message, call, known, POLICY, run="r")
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def main(iterations: int, rounds: int) -> None:
    growth = {}
    for count in (iterations // 2, iterations):
        (on, on_calls), (off, off_calls) = stored(count, POLICY), stored(count, None)
        growth[count] = on / off - 1
        print(f"{count} calls: {on:,} bytes stored, without flow control {off:,}", flush=True)
    figures = {
        "call_ms": round(per_call(rounds), 3),
        "stored_half": round(growth[iterations // 2], 4),
        "stored": round(growth[iterations], 4),
        "more_model_calls": on_calls - off_calls,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    main(options.iterations, options.rounds)
