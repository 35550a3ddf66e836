"""Ask the served agent, and decide for yourself what it may do.

python ask.py http://127.0.0.1:8123 "Enter a dive to 459 m in the Baltic Sea"
"""

import asyncio
import sys
from typing import Any

from langgraph_sdk import get_client

DEEPEST = 1_000


def decide(call: dict[str, Any]) -> dict[str, str]:
    """Approve dives that a diver can survive."""
    if call["args"]["metres"] <= DEEPEST:
        return {"type": "approve"}
    return {"type": "reject", "message": f"Nobody dives below {DEEPEST} m."}


async def ask(url: str, question: str) -> str:
    """Run the agent until it has answered, and return the answer."""
    client = get_client(url=url)
    thread = (await client.threads.create())["thread_id"]
    run: dict[str, Any] = {"input": {"messages": [{"role": "user", "content": question}]}}
    while True:
        state = await client.runs.wait(thread, "diver", **run)
        waiting = state.get("__interrupt__")
        if not waiting:
            return str(state["messages"][-1]["content"])
        for one in waiting:
            print(f"{one['value']['name']} {one['value']['args']}: {decide(one['value'])['type']}")
        run = {"command": {"resume": {one["id"]: decide(one["value"]) for one in waiting}}}


if __name__ == "__main__":
    print(asyncio.run(ask(sys.argv[1], sys.argv[2])))
