"""Convert exceptions into HTTP statuses and error bodies.

Routes raise domain errors. The body is `{error: code, message, hint?, detail}`: LangGraph's clients
read `detail` or `message`, ours read `error`.
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
from bathysphere.engine.cells.tenants import CLOSED
from bathysphere.engine.database.pool import CONNECTION_ERRORS
from bathysphere.server.cells.residence import TenantMoving
from bathysphere.server.langgraph_api.json_values import JSON

_log = logging.getLogger(__name__)

STATUSES = {
    "unauthenticated": 401,
    "not_allowed": 403,
    "thread_not_found": 404,
    "run_not_found": 404,
    "graph_not_found": 404,
    "assistant_not_found": 404,
    "share_not_found": 404,
    "api_key_not_found": 404,
    "budget_not_found": 404,
    "nothing_to_share": 422,
    "too_many_shares": 429,
    "cron_not_found": 404,
    "invalid_schedule": 422,
    "invalid_webhook": 422,
    "invalid_push_subscription": 422,
    "too_many_crons": 429,
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
    "budget_exceeded": 402,  # not 429: clients repeat those, and it stays so until next month
    "no_storage": 404,
    "file_not_found": 404,
    "change_not_found": 404,
    "cannot_undo": 409,
    "quota_exceeded": 429,
    "too_many_requests": 429,
    "too_many_waiting_runs": 429,
    "too_many_assistants": 429,
    "storage_full": 413,
    "too_many_pages": 429,
    "parsing_budget_exceeded": 429,
    "fetch_failed": 422,
    "report_not_found": 404,
    "unknown_snapshot": 404,
    "thread_busy": 409,
    "cannot_replay": 409,
    "thread_exists": 409,
    "assistant_exists": 409,
    "assistant_read_only": 403,
    "access_denied": 403,
    "run_id_taken": 409,
    "idempotency_key_reused": 422,
    "answer_refused": 422,
    "invalid_request": 422,
    "field_not_writable": 422,
    "context_not_declared": 422,
    "not_supported": 422,
    "message_search_off": 422,
    "identity_unavailable": 503,
    "tenant_elsewhere": 421,
    "tenant_moving": 503,
}
"""HTTP status by error code. Other codes get the status of their base class."""
FAMILY_STATUSES: tuple[tuple[type[BathysphereError], int], ...] = (
    (NotAllowed, 403),
    (CallerError, 400),
    (UpstreamError, 503),
)
"""HTTP status by base class, the first that fits; 500 for others."""


class InvalidRequest(CallerError):
    """The request is well-formed but invalid."""

    code = "invalid_request"


class NotSupported(CallerError):
    """The request needs a feature that this server does not support."""

    code = "not_supported"


class TooManyRequests(CallerError):
    """The caller exceeded its rate limit."""

    code = "too_many_requests"

    def __init__(self, message: str, *, retry_after: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or f"retry in {retry_after} s")
        self.retry_after = retry_after


class ThreadExists(CallerError):
    """The thread id chosen by the client is already in use."""

    code = "thread_exists"


class CheckpointNotFound(CallerError):
    """The thread has no such checkpoint."""

    code = "checkpoint_not_found"


class ItemNotFound(CallerError):
    """The store has no such item for this owner."""

    code = "item_not_found"


class DatabaseUnavailable(UpstreamError):
    """PostgreSQL does not answer. HTTP 503."""

    code = "database_away"

    def __init__(self) -> None:
        super().__init__("The database is unavailable", hint="try again in a moment")


def status_of(error: BathysphereError) -> int:
    """The HTTP status of an error."""
    if (status := STATUSES.get(error.code)) is not None:
        return status
    return next((status for kind, status in FAMILY_STATUSES if isinstance(error, kind)), 500)


def install(app: FastAPI) -> None:
    """Register the exception handlers."""
    app.add_exception_handler(BathysphereError, _domain)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(psycopg.DataError, _data_error)
    app.add_exception_handler(psycopg.DatabaseError, _database_error)
    for kind in (*CONNECTION_ERRORS, PoolTimeout):
        app.add_exception_handler(kind, _database_unavailable)
    app.add_exception_handler(Exception, _unexpected)


async def _domain(request: Request, error: Exception) -> Response:
    assert isinstance(error, BathysphereError)  # noqa: S101  # registered for it
    status = status_of(error)
    if status >= 500:
        _log.warning("%s %s: %s", request.method, request.url.path, error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, TooManyRequests | TenantMoving):
        headers["Retry-After"] = str(error.retry_after)
    return _body(status, error.code, error.message, hint=error.hint, headers=headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for it
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return _body(422, "invalid_request", "; ".join(problems[:5]))


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for it
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "invalid_request")
    return _body(error.status_code, code, str(error.detail), headers=error.headers)


async def _data_error(_: Request, error: Exception) -> Response:
    return _body(422, "invalid_request", f"Value cannot be stored: {error}".strip())


async def _database_error(request: Request, error: Exception) -> Response:
    """Convert a write that was refused because its tenant is moving; others are bugs."""
    if not isinstance(error, psycopg.Error) or error.sqlstate != CLOSED:
        raise error
    return await _domain(request, TenantMoving())


async def _database_unavailable(request: Request, error: Exception) -> Response:
    _log.warning("%s %s: PostgreSQL is unavailable: %s", request.method, request.url.path, error)
    answer = DatabaseUnavailable()
    return _body(503, answer.code, answer.message, hint=answer.hint)


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _body(500, "internal_error", "Internal server error")


def _body(
    status: int, code: str, message: str, *, hint: str | None = None, headers: Any = None
) -> Response:
    sentence = f"{message} ({hint})" if hint else message
    body = {"error": code, "message": message, "hint": hint, "detail": sentence}
    return JSON(body, status_code=status, headers=headers)
