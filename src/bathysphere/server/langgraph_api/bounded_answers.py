"""Responses of bounded size: what does not fit is left for the next request.

Concurrent large reads and copies are limited per process and to one per tenant, and tenants that
read at the same time get equal parts of it. So one caller can neither exhaust the memory of a
process nor block others.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.tenant_shares import Permit, ShareLimits, TenantShares

NEXT_HEADER = "x-pagination-next"
"""Response header with the cursor of the next page of a truncated list."""
OMITTED_HEADER = "x-values-omitted"
"""Response header with the number of threads whose values were omitted from a list."""

_PIECE_BYTES = 256 * 1024
_MAX_READ_SECONDS = 60.0
_FREE_READ_USAGE = 0.3
"""Part of the time that a tenant may read, however little the others read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerLimits:
    """Size limits of a response. One state is always sent, however large."""

    bytes: int = 16 * 1024 * 1024
    states: int = 100


class ReadTurns:
    """Limits concurrent large reads and copies, in all and to one per tenant."""

    def __init__(self, at_once: int = 2) -> None:
        self._at_once = asyncio.Semaphore(at_once)
        self._shares = TenantShares(
            ShareLimits(at_once=1, hold_seconds=_MAX_READ_SECONDS, free_usage=_FREE_READ_USAGE)
        )

    @asynccontextmanager
    async def turn(self, owner: Owner) -> AsyncIterator[None]:
        """Wait for a turn and hold it in this context."""
        async with Permit(self._shares, owner), self._at_once:
            yield


async def encode(value: Any) -> bytes:
    """Encode a value as JSON in a thread, because a state may be large."""
    return await asyncio.to_thread(dumps, value)


class JSONList(Response):
    """A JSON list of encoded values, sent in chunks without copying them."""

    media_type = "application/json"

    def __init__(self, items: list[bytes], *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(headers=headers)
        self._items = items
        size = sum(map(len, items)) + max(0, len(items) - 1) + 2
        self.headers["content-length"] = str(size)

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        del receive
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        for piece in self._pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"]"})

    def _pieces(self) -> Iterator[bytes]:
        opening = b"["
        for item in self._items:
            yield opening + item[:_PIECE_BYTES]
            for start in range(_PIECE_BYTES, len(item), _PIECE_BYTES):
                yield item[start : start + _PIECE_BYTES]
            opening = b","
        if not self._items:
            yield opening
