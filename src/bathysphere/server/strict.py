"""Requests whose JSON the database can hold: no NUL, no NaN, no half characters."""

from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

_NUL = b"\\u0000"


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body; what is not strict JSON is refused here and not by PostgreSQL."""
        body = await self.body()
        value = orjson.loads(body)
        if _NUL in body:
            raise JSONDecodeError("a text has a NUL character", "", 0)
        return value


class StrictRoute(APIRoute):
    """A route that reads its JSON strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given a strict request."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
