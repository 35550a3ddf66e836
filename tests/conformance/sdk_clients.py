"""Fixtures: stock clients of `server`, which the importing `conftest.py` provides."""

from collections.abc import AsyncIterator

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server, api_key=None) as client:
        yield client


@pytest.fixture
async def bob(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server, api_key=None, headers={"x-user": "bob"}) as client:
        yield client
