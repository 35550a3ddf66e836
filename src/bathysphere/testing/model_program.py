"""A stand-in for Ollama and LM Studio on loopback: lists models, pulls slowly, and answers."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

GIGABYTE = 1_000_000_000


class ModelProgram:
    """What it has, and what it was asked."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.url = ""
        self.pull_seconds = [0.0]
        """How long each pull takes; the last one counts for all further ones."""
        self.pull_error: str | None = None
        self.keys: list[str | None] = []
        """The keys that callers sent."""

    @contextmanager
    def running(self) -> Iterator["ModelProgram"]:
        """Listen until the block ends."""
        program = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                program.keys.append(self.headers.get("authorization"))
                if self.path == "/api/tags":
                    self._json({"models": [{"name": name} for name in program.names]})
                elif self.path == "/v1/models":
                    self._json({"data": [{"id": name} for name in program.names]})
                else:
                    self.send_error(404)

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length))
                lines = {"/api/pull": program._pull, "/api/chat": program._chat}
                if self.path not in lines:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("content-type", "application/x-ndjson")
                self.end_headers()
                with suppress(ConnectionError):  # the caller has given up
                    for line in lines[self.path](body):
                        self.wfile.write(json.dumps(line).encode() + b"\n")
                        self.wfile.flush()

            def _json(self, value: Any) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        serving = Thread(target=server.serve_forever)
        serving.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            serving.join()

    def _pull(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        steps = 100
        seconds = self.pull_seconds.pop(0) if len(self.pull_seconds) > 1 else self.pull_seconds[0]
        for step in range(steps + 1):
            time.sleep(seconds / steps)
            done = step * 2 * GIGABYTE // steps
            yield {"status": "pulling", "digest": "a", "completed": done, "total": 2 * GIGABYTE}
        if self.pull_error is not None:
            yield {"error": self.pull_error}
            return
        self.names.append(body["model"])
        yield {"status": "success"}

    def _chat(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        words = f"I am {body['model']}, and I run on this machine."
        message = {"role": "assistant", "content": words}
        base = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
        yield {**base, "message": message, "done": False}
        yield {
            **base,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 10,
            "eval_count": 10,
        }
