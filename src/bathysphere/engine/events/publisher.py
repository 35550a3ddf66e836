"""Publish a run's events in batches, collected for some milliseconds.

Tokens are not logged one by one: what a message gained in `interval` seconds is one event. If the
log is unreachable, the run continues; its events are dropped and readers see a gap.
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
from bathysphere.engine.events.langgraph_stream import Namespace, StreamEvent, Token
from bathysphere.engine.events.log import Channel, Event, EventLog
from bathysphere.engine.records import Run

OMITTED = "omitted_bytes"
"""Key of the size that replaces a state too large for the log."""
_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _PendingTokens:
    """The tokens that a message gained since the last flush."""

    namespace: Namespace
    node: str
    chunks: list[AIMessageChunk] = field(default_factory=list)


class Publisher:
    """Publishes the events of one attempt. Use as an async context manager; exiting flushes."""

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
        self._run_id = str(run.run_id)
        self._clock = clock
        self._interval = interval
        self._values_limit = values_limit
        self._pending: list[Event | _PendingTokens] = []
        self._tokens: dict[tuple[Namespace, str | None], _PendingTokens] = {}
        self._has_pending = asyncio.Event()
        self._sending = asyncio.Lock()
        self._lost = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._flush_periodically())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            async with self._sending:  # cancelled while sending, a batch would be lost silently
                self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.flush()

    def add(self, item: Token | StreamEvent) -> None:
        """Add a token or event from the graph's stream."""
        if isinstance(item, Token):
            self._add_token(item)
        else:
            self._add_event(item.channel, item.data, namespace=item.namespace)
        self._has_pending.set()

    def lifecycle(self, event: str, **data: Any) -> None:
        """Add an event about the run itself."""
        self._add_event("lifecycle", {"event": event, "graph": self._run.graph, **data})
        self._has_pending.set()

    async def flush(self) -> None:
        """Send the collected events."""
        async with self._sending:
            pending, self._pending, self._tokens = self._pending, [], {}
            self._has_pending.clear()
            if not pending:
                return
            bodies = [self._encode(item) for item in pending]
            try:
                await self._log.append(
                    self._run.thread_id,
                    bodies,
                    owner=self._run.owner,
                    token=self._run.token or 0,
                    after_loss=self._lost,
                )
                self._lost = False
            except UpstreamError as error:
                self._lost = True
                _log.warning(
                    "Dropped %d events of run %s: %s", len(bodies), self._run.run_id, error
                )

    async def _flush_periodically(self) -> None:
        while True:
            await self._has_pending.wait()
            await asyncio.sleep(self._interval)
            await self.flush()

    def _add_token(self, token: Token) -> None:
        key = (token.namespace, token.chunk.id)
        tokens = self._tokens.get(key)
        if tokens is None:
            tokens = self._tokens[key] = _PendingTokens(token.namespace, token.node)
            self._pending.append(tokens)
        tokens.chunks.append(token.chunk)

    def _add_event(self, channel: Channel, data: Any, *, namespace: Namespace = ()) -> None:
        self._pending.append(self._event(channel, data, namespace))

    def _event(self, channel: Channel, data: Any, namespace: Namespace) -> Event:
        return Event(
            channel=channel,
            run_id=self._run_id,
            data=data,
            namespace=namespace,
            attempt=self._run.attempt,
            at=int(self._clock.now().timestamp() * 1000),
        )

    def _encode(self, item: Event | _PendingTokens) -> bytes:
        if isinstance(item, _PendingTokens):
            data = {**_merge(item.chunks), "node": item.node}
            return self._event("messages", data, item.namespace).encode()
        body = item.encode()
        if item.channel == "values" and len(body) > self._values_limit:
            # The state is in PostgreSQL; a log of full states would grow quadratically.
            return self._event("values", {OMITTED: len(body)}, item.namespace).encode()
        return body


def _merge(chunks: list[AIMessageChunk]) -> dict[str, Any]:
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
