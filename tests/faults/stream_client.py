"""A client that reads a thread's events over HTTP and always reconnects.

It keeps every event in order, so that a test can compare them with the log. It reconnects from the
last id it saw (`since`), or from the start, deduplicating by event id like the stock SDK.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx

CHANNELS = ["lifecycle", "input", "values", "updates", "checkpoints", "messages", "tools", "custom"]
ENDS = ("completed", "failed", "interrupted")
_LOST = (httpx.HTTPError, TimeoutError)


async def sse(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON of each event, skipping comments."""
    async for line in lines:
        if line.startswith("data: "):
            yield json.loads(line[6:])


@dataclass(kw_only=True)
class StreamClient:
    """Reads until every run it waits for has ended."""

    http: httpx.AsyncClient
    thread: UUID
    addresses: Callable[[], list[str]]
    waits_for: list[str]
    sends_since: bool = True
    channels: list[str] = field(default_factory=lambda: list(CHANNELS))
    seen: list[dict[str, Any]] = field(default_factory=list)
    repeats: int = 0
    connections: int = 0
    address: str = ""
    _known: set[str] = field(default_factory=set)

    @property
    def ids(self) -> list[int]:
        """The ids of events from the log, without synthetic snapshots."""
        return [event["seq"] for event in self.seen if event["event_id"] == str(event["seq"])]

    def story(self) -> str:
        """A summary of its progress, for debugging."""
        events = [(e["event_id"], e["method"], e["params"]["timestamp"]) for e in self.seen[-4:]]
        return f"{self.connections} connections, now {self.address}, last saw {events}"

    async def read(self) -> None:
        """Read until all runs have ended, however many connections that takes."""
        while self.waits_for:
            addresses = self.addresses()
            self.address = addresses[self.connections % len(addresses)]
            self.connections += 1
            try:
                await self.read_once()
            except _LOST:
                await asyncio.sleep(0.1)

    async def read_once(self, *, until: Callable[[dict[str, Any]], bool] | None = None) -> None:
        """Read one connection until it breaks, all runs have ended, or `until` returns True."""
        body: dict[str, Any] = {"channels": self.channels}
        since = max(self.ids, default=0) if self.sends_since else 0
        if since:
            body["since"] = since
        url = f"{self.address}/threads/{self.thread}/stream/events"
        async with self.http.stream("POST", url, json=body) as response:
            response.raise_for_status()
            async with aclosing(sse(response.aiter_lines())) as events:
                async for event in events:
                    self._take(event, is_replay=not since)
                    if not self.waits_for or (until is not None and until(event)):
                        return

    def _take(self, event: dict[str, Any], *, is_replay: bool) -> None:
        if event["event_id"] in self._known:
            self.repeats += not is_replay
            return
        self._known.add(event["event_id"])
        self.seen.append(event)
        data = event["params"]["data"]
        if event["method"] == "lifecycle" and data["event"] in ENDS:
            self._is_over(data.get("run_id"))

    def _is_over(self, run_id: str | None) -> None:
        # Runs of a thread are in order: if a later one has ended, so have those before it.
        if run_id in self.waits_for:
            del self.waits_for[: self.waits_for.index(run_id) + 1]


def open_http() -> httpx.AsyncClient:
    """Open a client that notices a silent server: the APIs send a comment twice per second."""
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=0)
    return httpx.AsyncClient(
        timeout=httpx.Timeout(2.0, connect=2.0), headers={"x-user": "alice"}, limits=limits
    )
