"""A server that hangs or is gone costs a moment, once."""

import asyncio

import pytest

from bathysphere.core.circuit_breaker import CircuitBreaker
from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError


class Server:
    """Answers, hangs or fails; counts how often it was called."""

    def __init__(self) -> None:
        self.does = "answer"
        self.calls = 0

    async def call(self) -> str:
        self.calls += 1
        if self.does == "fail":
            raise ConnectionResetError
        if self.does == "refuse":
            raise ValueError
        while self.does == "hang":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if self.calls > 1:  # some clients swallow a cancellation
                    continue
                raise
        return "answer"


@pytest.fixture
def server() -> Server:
    return Server()


def breaker(recovered: list[str], seconds: float = 0.1) -> CircuitBreaker:
    return CircuitBreaker(
        "The server",
        errors=(OSError,),
        clock=SystemClock(),
        seconds=seconds,
        on_recovery=lambda: recovered.append("recovered"),
    )


async def test_an_answer_is_passed_on(server: Server):
    recovered: list[str] = []
    assert await breaker(recovered).call(server.call) == "answer"
    assert recovered == []


@pytest.mark.parametrize("fault", ["fail", "hang"])
async def test_after_a_failure_calls_fail_at_once_and_one_a_second_tries(
    server: Server, fault: str
):
    recovered: list[str] = []
    calls = breaker(recovered)
    server.does = fault
    with pytest.raises(UpstreamError):
        await calls.call(server.call)
    for _ in range(50):
        with pytest.raises(UpstreamError):
            await calls.call(server.call)
    assert server.calls == 1
    await asyncio.sleep(0.15)
    with pytest.raises(UpstreamError):
        await calls.call(server.call)
    assert server.calls == 2
    server.does = "answer"
    await asyncio.sleep(0.15)
    assert await calls.call(server.call) == "answer"
    assert await calls.call(server.call) == "answer"
    assert recovered == ["recovered"]


async def test_a_hanging_call_is_abandoned_even_if_it_cannot_be_cancelled(server: Server):
    server.does, server.calls = "hang", 1
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamError, match="did not answer"):
            await breaker([]).call(server.call)
    server.does = "answer"  # lets the abandoned task end


async def test_what_the_server_says_is_no_failure_of_the_server(server: Server):
    calls = breaker([])
    server.does = "refuse"
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^$"):
            await calls.call(server.call)
    assert server.calls == 2


async def test_a_cancelled_caller_cancels_its_call(server: Server):
    server.does = "hang"
    calling = asyncio.create_task(breaker([], seconds=30).call(server.call))
    await asyncio.sleep(0.05)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
