"""CPU per iteration of the agent loop, compared with `create_agent` and `create_deep_agent`.

All three run the same tool iterations of the same scripted model in one process, taking turns, so
that noise on the machine affects all of them. The figure is the best of several rounds, in CPU
time. Last line: JSON.
"""

import argparse
import asyncio
import json
import time

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from bathysphere.flow import FlowPolicy, flow
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

GATED = {"write_file": True, "edit_file": True, "delete": True}


@tool
def echo(text: str) -> str:
    """Return the text."""
    return text


def model(iterations: int) -> ScriptedChatModel:
    def answer(messages: list[BaseMessage]):
        if messages[0].text.startswith("You settle what an assistant may do"):
            return calls("commit_plan", steps=[{"id": "s1", "tool": "echo", "many": True}])
        done = sum(isinstance(message, AIMessage) for message in messages)
        return says("done") if done >= iterations else calls("echo", text=f"{done:050}")

    return ScriptedChatModel(answer=answer)


def agents(iterations: int) -> dict[str, object]:
    return {
        "create_agent": create_agent(model(iterations), [echo]),
        "deepagents": create_deep_agent(model(iterations), [echo]),
        "bathysphere": build(
            AgentSpec(name="bench", model=model(iterations), tools=(echo,), approvals=GATED)
        ),
        "bathysphere_flow": build(
            AgentSpec(
                name="bench",
                model=model(iterations),
                tools=(echo,),
                approvals=GATED,
                flow=FlowPolicy(tools={"echo": flow(acts=True, text="text")}),
            )
        ),
    }


async def once(agent, iterations: int) -> float:
    start = time.process_time()
    config = {"recursion_limit": 10 * iterations}
    await agent.ainvoke({"messages": [("user", "go")]}, config)
    return (time.process_time() - start) * 1000 / iterations


async def main(iterations: int, rounds: int) -> None:
    contenders = agents(iterations)
    best = dict.fromkeys(contenders, float("inf"))
    for round_number in range(rounds):
        for name, agent in contenders.items():
            best[name] = min(best[name], await once(agent, iterations))
        print(
            f"round {round_number + 1} of {rounds}: "
            + ", ".join(f"{name} {ms:.2f} ms" for name, ms in best.items()),
            flush=True,
        )
    for name in ("bathysphere", "bathysphere_flow"):
        print(
            f"{name} is {best[name] / best['deepagents']:.2f} x deepagents, "
            f"{best[name] / best['create_agent']:.2f} x create_agent"
        )
    print(json.dumps({f"{name}_ms": round(ms, 3) for name, ms in best.items()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(main(options.iterations, options.rounds))
