"""The class of our routes: strict JSON, and the authorization of a project, if it has its own.

JSON that the database cannot store is rejected: NUL, NaN, unpaired surrogates, deep nesting.
"""

import re
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any, Protocol

import orjson
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

_ESCAPE = b"\\u0000"
MAX_DEPTH = 64
"""Maximum nesting of lists and objects, because graphs and serializers recurse."""
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"', re.DOTALL)
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


class StrictRequest(Request):
    """A request whose body is parsed strictly."""

    def replace_body(self, value: Any) -> None:
        """Let the route see another body."""
        self._body = orjson.dumps(value)

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


class Authorization(Protocol):
    """Decides whether a request may be answered, and may change it first."""

    async def check(self, operation: str, request: StrictRequest) -> Response | None:
        """Return a response to send in place of the route's; raise to refuse the request."""
        ...


class StrictRoute(APIRoute):
    """A route that parses JSON strictly, and asks the project's authorization."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with strict request parsing."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            checked = StrictRequest(request.scope, request.receive)
            rules: Authorization | None = getattr(request.app.state, "authorization", None)
            if rules is not None:
                tag = str(self.tags[0]) if self.tags else "default"
                operation = f"{tag}-{self.name}".replace("_", "-")
                if (answer := await rules.check(operation, checked)) is not None:
                    return answer
            return await handle(checked)

        return strict
