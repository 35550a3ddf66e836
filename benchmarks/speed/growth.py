"""Bytes stored per thread, compared with `create_agent` and plain `create_deep_agent`.

Main: N turns of 2 KB (1 KB question, 1 KB answer) in one thread. Subagent: one run whose subagent
makes N tool iterations of 2 KB (1 KB argument, 1 KB result). Counted in PostgreSQL: blobs, writes,
and checkpoint and metadata JSON, before compression. Last line: JSON.
"""

import argparse
import asyncio
import json
import os
import secrets

import psycopg
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

KB = "x" * 1024
GATED = {"write_file": True, "edit_file": True, "delete": True}
SERVER = os.environ.get(
    "BATHYSPHERE_TEST_DATABASE_URL", "postgresql://root@127.0.0.1:5432/postgres"
)
SIZE = """
select (select coalesce(sum(octet_length(blob)), 0) from checkpoint_blobs where thread_id = %(t)s)
     + (select coalesce(sum(octet_length(blob)), 0) from checkpoint_writes where thread_id = %(t)s)
     + (select coalesce(sum(octet_length(checkpoint::text) + octet_length(metadata::text)), 0)
          from checkpoints where thread_id = %(t)s)
"""


@tool
def lookup(question: str) -> str:
    """Answer with one kilobyte."""
    return KB


def chatty() -> ScriptedChatModel:
    return ScriptedChatModel(answer=lambda _: says(KB))


def delegating(turns: int) -> ScriptedChatModel:
    """As the main agent, start one subagent; as the subagent, make `turns` tool calls."""

    def answer(messages: list[BaseMessage]):
        answered = sum(isinstance(message, AIMessage) for message in messages)
        if messages[-1].text == "start" or any(m.text == "start" for m in messages):
            task = calls("task", description="work", subagent_type="general-purpose")
            return says("done") if answered else task
        return (
            says("done")
            if answered >= turns
            else calls("lookup", question=f"{answered:06}{KB[6:]}")
        )

    return ScriptedChatModel(answer=answer)


async def chat(agent, thread: str, turns: int) -> None:
    config = {"configurable": {"thread_id": thread}}
    for _ in range(turns):
        await agent.ainvoke({"messages": [("user", KB)]}, config)


async def delegate(agent, thread: str) -> None:
    config = {"configurable": {"thread_id": thread}, "recursion_limit": 9_999}
    await agent.ainvoke({"messages": [("user", "start")]}, config)


async def measure(saver: AsyncPostgresSaver, database: str, sizes: list[int]) -> dict[str, int]:
    def ours(model: ScriptedChatModel):
        spec = AgentSpec(name="bench", model=model, tools=(lookup,), approvals=GATED)
        return build(spec, checkpointer=saver)

    mains = {
        "create_agent": create_agent(chatty(), [lookup], checkpointer=saver),
        "deepagents": create_deep_agent(chatty(), [lookup], checkpointer=saver),
        "bathysphere": ours(chatty()),
    }
    figures: dict[str, int] = {}
    for turns in sizes:
        for name, agent in mains.items():
            await chat(agent, f"{name}-{turns}", turns)
            figures[f"{name}_{turns}"] = await stored(database, f"{name}-{turns}")
        for name, agent in (
            (
                "deepagents_subagent",
                create_deep_agent(delegating(turns), [lookup], checkpointer=saver),
            ),
            ("bathysphere_subagent", ours(delegating(turns))),
        ):
            await delegate(agent, f"{name}-{turns}")
            figures[f"{name}_{turns}"] = await stored(database, f"{name}-{turns}")
        row = {name: figures[name] for name in figures if name.endswith(f"_{turns}")}
        print(", ".join(f"{name} {size / 1024:,.0f} KB" for name, size in row.items()), flush=True)
    return figures


async def stored(database: str, thread: str) -> int:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        row = await (await connection.execute(SIZE, {"t": thread})).fetchone()
        return int(row[0])


async def main(sizes: list[int]) -> None:
    name = f"bathysphere_growth_{secrets.token_hex(4)}"
    async with await psycopg.AsyncConnection.connect(SERVER, autocommit=True) as server:
        await server.execute(f"create database {name}")
        try:
            database = SERVER.rpartition("/")[0] + f"/{name}"
            async with AsyncPostgresSaver.from_conn_string(database) as saver:
                await saver.setup()
                figures = await measure(saver, database, sizes)
        finally:
            await server.execute(f"drop database {name} with (force)")
    top = sizes[-1]
    for ours in ("bathysphere", "bathysphere_subagent"):
        print(
            f"{ours}: 1/{figures[f'create_agent_{top}'] / figures[f'{ours}_{top}']:.1f}"
            " of create_agent"
        )
    print(json.dumps({name: size for name, size in figures.items() if name.endswith(f"_{top}")}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, nargs="+", default=[50, 100, 200])
    asyncio.run(main(parser.parse_args().turns))
