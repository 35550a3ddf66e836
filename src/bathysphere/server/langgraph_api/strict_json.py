"""Reject JSON that the database cannot store: NUL, NaN, unpaired surrogates, deep nesting."""

import re
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

import orjson
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

_ESCAPE = b"\\u0000"
MAX_DEPTH = 64
"""Maximum nesting of lists and objects, because graphs and serializers recurse."""
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def _has_nul(value: Any) -> bool:
    """Whether any string in a JSON value contains NUL. Iterative: the value may be deep."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            if "\0" in one:
                return True
        elif isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            stack += one
    return False


def is_too_deep(body: bytes) -> bool:
    """Whether valid JSON is nested too deeply.

    Only the brackets are kept; each pass removes the innermost pairs, one level of nesting.
    """
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    brackets = _STRINGS.sub(b"", body).translate(_AS_LISTS, delete=_NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Parse the body; values that PostgreSQL would reject are refused here."""
        body = await self.body()
        value = orjson.loads(body)
        if is_too_deep(body):
            raise JSONDecodeError(f"Nested deeper than {MAX_DEPTH} levels", "", 0)
        # The escape alone is not enough: it may be text, with a backslash before it.
        if _ESCAPE in body and _has_nul(value):
            raise JSONDecodeError("A string contains a NUL character", "", 0)
        return value


class StrictRoute(APIRoute):
    """A route that parses JSON strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with strict request parsing."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict
