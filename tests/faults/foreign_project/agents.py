"""The same steps as tool calls of a bare agent and of a deep one."""

import json

from deepagents import create_deep_agent
from journal import execute
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool

from bathysphere.testing import ScriptedChatModel, calls, says


@tool
async def step(name: str, number: int, delay: float, runtime: ToolRuntime) -> str:
    """Perform a step."""
    thread = runtime.config["configurable"]["thread_id"]
    return await execute(thread, f"{name}:{number}", delay)


def next_step(messages):
    """Call the tool until the steps that the last person asked for are done."""
    asked = max(index for index, message in enumerate(messages) if message.type == "human")
    given = json.loads(messages[asked].text)
    done = sum(message.type == "tool" for message in messages[asked:])
    if done == given["steps"]:
        return says("Done.")
    step = {"name": given["name"], "number": done, "delay": given["delay"]}
    return calls("step", step, id=f"{given['name']}-{done}")


bare_agent = create_agent(ScriptedChatModel(answer=next_step), tools=[step])
deep_agent = create_deep_agent(model=ScriptedChatModel(answer=next_step), tools=[step])
