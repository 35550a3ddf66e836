"""Steps that several tests of the stock Python client take."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph_sdk.client import LangGraphClient


def human(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def new_thread(client: LangGraphClient, **options: Any) -> str:
    return (await client.threads.create(**options))["thread_id"]


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(15):
        while not await check():  # noqa: ASYNC110  # another process
            await asyncio.sleep(0.02)


async def status_is(client: LangGraphClient, thread: str, status: str) -> None:
    async def is_there() -> bool:
        return (await client.threads.get(thread))["status"] == status

    await until(is_there)


async def has_items(client: LangGraphClient, thread: str, count: int) -> None:
    async def are_there() -> bool:
        values = (await client.threads.get_state(thread))["values"]
        return len(values.get("items", [])) >= count

    await until(are_there)
