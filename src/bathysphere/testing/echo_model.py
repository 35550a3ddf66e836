"""A model server that answers with what it was told: the first line of the prompt, and the words.

It speaks OpenAI's chat completions, streamed or not. With `CALL tool {json}` as the last message it
calls the tool; after a tool result it answers with the result.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The next message of the model."""
    last = messages[-1]
    text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    if last["role"] == "user" and text.startswith("CALL "):
        _, tool, arguments = text.split(" ", 2)
        function = {"name": tool, "arguments": arguments}
        call = {"index": 0, "id": f"call_{len(messages)}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    prompt = messages[0]["content"]
    prompt = prompt if isinstance(prompt, str) else prompt[0]["text"]
    heard = [m["role"] for m in messages].count("user")
    return {"role": "assistant", "content": f"{prompt.splitlines()[0]} | {heard} | {text}"}


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        self._send(json.dumps({"data": [{"id": "echo"}]}).encode(), "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = answer(body["messages"])
        reason = "tool_calls" if "tool_calls" in message else "stop"
        head = {"id": "1", "created": 1, "model": "echo", "object": "chat.completion"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._send(json.dumps({**head, "choices": [choice]}).encode(), "application/json")
            return
        parts: list[dict[str, Any]] = [
            {"delta": message, "finish_reason": None},
            {"delta": {}, "finish_reason": reason},
        ]
        head["object"] = "chat.completion.chunk"
        lines = [json.dumps({**head, "choices": [{"index": 0, **part}]}) for part in parts]
        text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
        self._send(text.encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def echo_model() -> Iterator[dict[str, str]]:
    """Serve the model; the variables that make it the main one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "BATHYSPHERE_MODEL_MAIN": "lm-studio:echo",
            "LM_STUDIO_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
