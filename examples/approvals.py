"""Approvals without a terminal: a run pauses, your code decides, the run continues.

Run it with `python examples/approvals.py`; the scripted tour asks to change a file.
"""

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere import create_deep_agent

THREAD = {"configurable": {"thread_id": "example"}}


def decide(call: dict[str, object]) -> dict[str, str]:
    """Allow changes to notes, and nothing else."""
    path = str(call["args"]["file_path"])  # type: ignore[index]
    if path.endswith("notes.md"):
        return {"type": "approve"}
    return {"type": "reject", "message": f"{path} is not a note."}


async def main() -> None:
    """Run two turns and answer the approval requests."""
    agent = create_deep_agent(
        "demo:tour",
        interrupt_on={"edit_file": True, "delete": True},
        checkpointer=InMemorySaver(),
    )
    for text in ("Hello", "Sort my photos"):
        state = await agent.ainvoke({"messages": [("user", text)]}, THREAD)
        while pending := state.get("__interrupt__"):
            answers = {interrupt.id: decide(interrupt.value) for interrupt in pending}
            print("asked for:", ", ".join(interrupt.value["name"] for interrupt in pending))
            state = await agent.ainvoke(Command(resume=answers), THREAD)
    print(state["files"]["/tour/notes.md"]["content"])


if __name__ == "__main__":
    asyncio.run(main())
