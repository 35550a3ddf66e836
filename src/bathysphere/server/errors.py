"""One place that turns what went wrong into a status and a body.

Routes raise the domain's errors. A body is `{error: code, message, hint?, detail}`: LangGraph's
clients read `detail` or `message`, ours read `error`.
"""

import logging
from typing import Any

import psycopg
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from psycopg_pool import PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bathysphere.core.errors import BathysphereError, CallerError, NotAllowed, UpstreamError
from bathysphere.engine.database import LOST
from bathysphere.server.jsonable import JSON

_log = logging.getLogger(__name__)

STATUSES = {
    "unauthenticated": 401,
    "not_allowed": 403,
    "thread_not_found": 404,
    "run_not_found": 404,
    "graph_not_found": 404,
    "checkpoint_not_found": 404,
    "item_not_found": 404,
    "question_not_found": 404,
    "payments_off": 404,
    "no_payment_session": 404,
    "payment_session_taken": 409,
    "token_already_used": 400,
    "token_refused": 400,
    "bad_refund_key": 422,
    "payment_required": 402,
    "no_storage": 404,
    "file_not_found": 404,
    "change_not_found": 404,
    "cannot_undo": 409,
    "quota_exceeded": 429,
    "too_many_pages": 429,
    "fetch_failed": 422,
    "report_not_found": 404,
    "unknown_snapshot": 404,
    "thread_busy": 409,
    "thread_exists": 409,
    "run_id_taken": 409,
    "answer_refused": 422,
    "invalid_request": 422,
    "not_supported": 422,
    "identity_unavailable": 503,
}
"""Code → status. A code that is missing here gets its family's."""
_FAMILIES: tuple[tuple[type[BathysphereError], int], ...] = (
    (NotAllowed, 403),
    (CallerError, 400),
    (UpstreamError, 503),
)


class InvalidRequest(CallerError):
    """The request is understood and cannot be done as it is."""

    code = "invalid_request"


class NotSupported(CallerError):
    """The request asks for something this server does not do."""

    code = "not_supported"


class ThreadExists(CallerError):
    """The client's thread id is in use."""

    code = "thread_exists"


class CheckpointNotFound(CallerError):
    """The thread has no such checkpoint."""

    code = "checkpoint_not_found"


class ItemNotFound(CallerError):
    """The store has no such item for this owner."""

    code = "item_not_found"


def status_of(error: BathysphereError) -> int:
    """The HTTP status of an error."""
    if (status := STATUSES.get(error.code)) is not None:
        return status
    return next((status for kind, status in _FAMILIES if isinstance(error, kind)), 500)


def install(app: FastAPI) -> None:
    """Answer with what went wrong instead of raising it."""
    app.add_exception_handler(BathysphereError, _domain)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(psycopg.DataError, _unfit)
    for kind in (*LOST, PoolTimeout):
        app.add_exception_handler(kind, _away)
    app.add_exception_handler(Exception, _unexpected)


async def _domain(request: Request, error: Exception) -> Response:
    assert isinstance(error, BathysphereError)  # noqa: S101  # registered for it
    status = status_of(error)
    if status >= 500:
        _log.warning("%s %s: %s", request.method, request.url.path, error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return _body(status, error.code, error.message, hint=error.hint, headers=headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for it
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return _body(422, "invalid_request", "; ".join(problems[:5]))


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for it
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid_request")
    return _body(error.status_code, code, str(error.detail), headers=error.headers)


async def _unfit(_: Request, error: Exception) -> Response:
    return _body(422, "invalid_request", f"the database cannot hold this: {error}".strip())


async def _away(request: Request, error: Exception) -> Response:
    _log.warning("%s %s: PostgreSQL is away: %s", request.method, request.url.path, error)
    hint = "try again in a moment"
    return _body(503, "database_away", "the database cannot be reached", hint=hint)


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _body(500, "internal_error", "something went wrong on the server")


def _body(
    status: int, code: str, message: str, *, hint: str | None = None, headers: Any = None
) -> Response:
    sentence = f"{message} ({hint})" if hint else message
    body = {"error": code, "message": message, "hint": hint, "detail": sentence}
    return JSON(body, status_code=status, headers=headers)
