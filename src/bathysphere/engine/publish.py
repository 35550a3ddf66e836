"""Publishing a run's events: gathered for some milliseconds, then sent in one go.

A token does not go to the log by itself: what a message gained in `interval` seconds is one event.
A log that cannot be reached does not stop a run; the events are dropped and readers see a gap.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.engine.events import Channel, Event, EventLog
from bathysphere.engine.records import Run
from bathysphere.engine.stream import Happening, Namespace, Token

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Writing:
    """The tokens a message gained since the last flush."""

    namespace: Namespace
    node: str
    chunks: list[AIMessageChunk] = field(default_factory=list)


class Publisher:
    """The events of one attempt. Use as an async context manager; leaving it flushes."""

    def __init__(
        self,
        log: EventLog,
        run: Run,
        *,
        clock: Clock,
        interval: float = 0.075,
        values_limit: int = 256_000,
    ) -> None:
        self._log = log
        self._run = run
        self._clock = clock
        self._interval = interval
        self._values_limit = values_limit
        self._waiting: list[Event | _Writing] = []
        self._writing: dict[tuple[Namespace, str | None], _Writing] = {}
        self._has_news = asyncio.Event()
        self._sending = asyncio.Lock()
        self._lost = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._send_often())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            async with self._sending:  # cancelled on its way, a batch would be lost in silence
                self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.flush()

    def add(self, item: Token | Happening) -> None:
        """Something from the graph's stream."""
        if isinstance(item, Token):
            self._add_token(item)
        else:
            self._add_event(item.channel, item.data, namespace=item.namespace)
        self._has_news.set()

    def lifecycle(self, event: str, **data: Any) -> None:
        """Something about the run itself."""
        self._add_event("lifecycle", {"event": event, "graph": self._run.graph, **data})
        self._has_news.set()

    async def flush(self) -> None:
        """Send what has gathered."""
        async with self._sending:
            waiting, self._waiting, self._writing = self._waiting, [], {}
            self._has_news.clear()
            if not waiting:
                return
            bodies = [self._encode(item) for item in waiting]
            try:
                await self._log.append(
                    self._run.thread_id,
                    bodies,
                    token=self._run.token or 0,
                    after_loss=self._lost,
                )
                self._lost = False
            except UpstreamError as error:
                self._lost = True
                _log.warning(
                    "%d events of run %s dropped: %s", len(bodies), self._run.run_id, error
                )

    async def _send_often(self) -> None:
        while True:
            await self._has_news.wait()
            await asyncio.sleep(self._interval)
            await self.flush()

    def _add_token(self, token: Token) -> None:
        key = (token.namespace, token.chunk.id)
        writing = self._writing.get(key)
        if writing is None:
            writing = self._writing[key] = _Writing(token.namespace, token.node)
            self._waiting.append(writing)
        writing.chunks.append(token.chunk)

    def _add_event(self, channel: Channel, data: Any, *, namespace: Namespace = ()) -> None:
        self._waiting.append(self._event(channel, data, namespace))

    def _event(self, channel: Channel, data: Any, namespace: Namespace) -> Event:
        return Event(
            channel=channel,
            run_id=str(self._run.run_id),
            data=data,
            namespace=namespace,
            attempt=self._run.attempt,
            at=int(self._clock.now().timestamp() * 1000),
        )

    def _encode(self, item: Event | _Writing) -> bytes:
        if isinstance(item, _Writing):
            data = {**_gathered(item.chunks), "node": item.node}
            return self._event("messages", data, item.namespace).encode()
        body = item.encode()
        if item.channel == "values" and len(body) > self._values_limit:
            # The state is in PostgreSQL; a log of full states would grow with its square.
            return self._event("values", {"omitted_bytes": len(body)}, item.namespace).encode()
        return body


def _gathered(chunks: list[AIMessageChunk]) -> dict[str, Any]:
    first = chunks[0]
    if all(_is_text(chunk) for chunk in chunks):
        return {"event": "delta", "id": first.id, "text": "".join(str(c.content) for c in chunks)}
    whole = add_ai_message_chunks(first, *chunks[1:]) if len(chunks) > 1 else first
    return {"event": "chunk", "id": first.id, "chunk": whole.model_dump()}


def _is_text(chunk: AIMessageChunk) -> bool:
    return (
        type(chunk.content) is str
        and not chunk.tool_call_chunks
        and not chunk.additional_kwargs
        and not chunk.usage_metadata
        and not chunk.response_metadata
    )
