"""Parsers that misbehave, for the child process of the pool: what a page might do to a real one."""

import os
import sys
import time
from pathlib import Path

WRITTEN = Path("/tmp/bathysphere-parser-wrote")


def loop():
    while True:
        pass


def labour():
    while time.process_time() < 1:
        pass


def sleep():
    time.sleep(3600)


def allocate():
    kept = []
    while True:
        kept.append(bytearray(50_000_000))


def crash():
    os.kill(os.getpid(), 11)


def fail():
    raise AttributeError("a parser's own mistake")


def write():
    WRITTEN.write_text("x" * 1000)


def look():
    files = len(list(Path("/proc/self/fd").iterdir()))
    return [" ".join(sorted(os.environ)) + f"|{files}", "", None]


def speak():
    sys.stdout.write("not an answer\n" * 1000)
    sys.stdout.flush()


def fine():
    return [f"fine {os.getpid()}", "", None]


def obey(body, content_type, charset, url):
    """Do what the body names, and answer as a parser does."""
    return globals()[body.decode()]() or fine()
