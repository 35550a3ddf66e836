"""A custom agent in twenty lines: a tool, an approval, limits, and a description of its stack.

Run it with `python examples/first_agent.py`. With no model configured, the scripted tour answers;
set `BATHYSPHERE_MODEL_MAIN=provider:name` to use a real model.
"""

import asyncio

from langchain_core.tools import tool

from bathysphere import AgentSpec, Limits, Models, ModelSettings, build
from bathysphere.harness.describe import describe


@tool
def depth(place: str) -> int:
    """Return the depth of the sea at a place, in metres."""
    return {"Mariana Trench": 10_935, "Baltic Sea": 459}.get(place, 0)


async def main() -> None:
    """Describe the agent, build it, and ask a question."""
    models = Models.from_settings(ModelSettings.from_environment())
    spec = AgentSpec(
        name="diver",
        model=models.main,
        prompt="You answer questions about the sea. Look depths up; never guess them.",
        tools=(depth,),
        approvals={"delete": True},
        limits=Limits(model_calls=20, seconds=120),
    )
    print(describe(spec), end="\n\n")

    question = {"messages": [("user", "Which is deeper, the Baltic Sea or the Mariana Trench?")]}
    final = await build(spec).ainvoke(question)
    print(final["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
