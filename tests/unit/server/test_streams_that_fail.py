"""An error inside a stream: the answer has begun, so the log is the only one who can be told."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import psycopg
import pytest

from bathysphere.core.errors import UpstreamError
from bathysphere.server.sse import EventStream, StreamRules


async def checked() -> None:
    return None


RULES = StreamRules(heartbeat_seconds=5, max_seconds=60, check=checked)


async def served(error: Exception) -> list[dict[str, Any]]:
    """What a client of a stream gets that fails after its first part."""
    sent: list[dict[str, Any]] = []

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"first"
        raise error

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await EventStream(chunks(), rules=RULES)({}, receive, send)
    return sent


@pytest.mark.parametrize(
    "error", [UpstreamError("Redis is unavailable"), psycopg.OperationalError("server closed")]
)
async def test_the_cause_of_a_cut_stream_is_logged(error, caplog):
    with caplog.at_level(logging.WARNING, logger="bathysphere"):
        sent = await served(error)
    assert str(error) in caplog.text
    assert sent[-1]["more_body"]  # not ended as if it were whole: the client comes back


async def test_a_bug_inside_a_stream_is_logged_with_its_trace(caplog):
    with pytest.raises(ZeroDivisionError), caplog.at_level(logging.ERROR, logger="bathysphere"):
        await served(ZeroDivisionError("a bug"))
    assert "ZeroDivisionError: a bug" in caplog.text
