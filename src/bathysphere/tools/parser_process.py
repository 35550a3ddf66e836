"""The child process that parses untrusted pages, one request at a time, within limits.

Started by `parser_pool` as `python -m bathysphere.tools.parser_process LIMITS`. It inherits nothing
of its parent's environment and only two pipes of its files. A request is a JSON frame and a binary
frame; a response is a JSON frame, and the first one reports that the process is ready. It exits
when its input ends, when it has been idle for too long, or when a request exceeds its time, CPU or
memory. An exception in a parser also ends it, with status 1: the next page gets a new process.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from bathysphere.core.errors import ConfigError
from bathysphere.tools.errors import FetchFailed

FRAME = struct.Struct(">I")
LIFETIME_CPU = 600
_FILES = 64

Parse = Callable[..., Any]


def main(arguments: list[str]) -> None:
    """Serve requests until the input ends."""
    limits = json.loads(arguments[0])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries must not print responses
    _limit_process(limits)
    module, _, name = limits["target"].partition(":")
    parse: Parse = getattr(importlib.import_module(module), name)
    for heavy in limits["preload"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(heavy)
    requests = os.fdopen(0, "rb", buffering=0)
    os.nice(limits["nice"])
    _send(answers, {"ready": True})
    # By then the parent no longer uses it, so no request is lost.
    while select.select([requests], [], [], 2 * limits["idle_s"])[0]:
        head = _read_frame(requests)
        if head is None:
            return
        body = _read_frame(requests) or b""
        _limit_request(limits)
        answer = _answer(parse, json.loads(head), body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, answer)


def _send(stream: BinaryIO, answer: dict[str, Any]) -> None:
    raw = json.dumps(answer).encode("ascii")
    stream.write(FRAME.pack(len(raw)) + raw)
    stream.flush()


def _answer(parse: Parse, head: dict[str, Any], body: bytes) -> dict[str, Any]:
    began = time.process_time()
    try:
        answer: dict[str, Any] = {"result": parse(body, **head)}
    except FetchFailed as error:
        answer = {"failed": error.message, "reason": error.reason}
    except ConfigError as error:
        answer = {"config": error.message, "hint": error.hint}
    except MemoryError:
        answer = {"failed": "The page needs too much memory to parse", "reason": "too_complex"}
    return {**answer, "cpu": time.process_time() - began}


def _read_frame(stream: BinaryIO) -> bytes | None:
    head = _read_exactly(stream, FRAME.size)
    return None if head is None else _read_exactly(stream, FRAME.unpack(head)[0])


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    read = bytearray()
    while len(read) < size:
        chunk = stream.read(size - len(read))
        if not chunk:
            return None
        read += chunk
    return bytes(read)


def _limit_process(limits: dict[str, Any]) -> None:
    """Limit the process's memory and open files; disable file writes and core dumps."""
    import resource

    for which, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
    ):
        # Some systems define a limit but do not allow setting it.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (most, most))


def _limit_request(limits: dict[str, Any]) -> None:
    """Limit the CPU and wall-clock time of one request: the kernel kills the process beyond it."""
    import resource

    most = int(time.process_time()) + 1 + limits["cpu_s"]
    resource.setrlimit(resource.RLIMIT_CPU, (min(most, LIFETIME_CPU), LIFETIME_CPU))
    signal.setitimer(signal.ITIMER_REAL, limits["deadline_s"] + 1)


if __name__ == "__main__":
    main(sys.argv[1:])
