"""One trace from the request over the queue to the worker, the model and the tool."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

pytestmark = pytest.mark.services
REDIS = "redis://127.0.0.1:6379/0"


class Collector(ThreadingHTTPServer):
    """Takes spans as an OpenTelemetry collector does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.spans = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def above(span, by_id) -> list:
    """The spans a span lies below, nearest first."""
    found = []
    while span.parent_span_id:
        span = by_id[span.parent_span_id]
        found.append(span)
    return found


async def test_a_run_spans_hang_below_the_request_that_asked_for_it(
    command, edge_database, collector
):
    services = ("--database-url", edge_database.url, "--redis-url", REDIS)
    told = {"BATHYSPHERE_OTEL_ENDPOINT": collector.url}
    server = command("serve", *services, "--no-worker", "--port", "0", **told)
    worker = command("worker", *services, **told)
    url = server.url()
    worker.line("Worker ready")
    question = {"messages": [{"role": "user", "content": "s3cret question"}]}
    answer = await asyncio.to_thread(
        httpx.post,
        f"{url}/runs/wait",
        json={"assistant_id": "simple", "input": question},
        timeout=40,
    )
    assert answer.status_code == 200, answer.text
    for process in (server, worker):
        process.process.terminate()
        assert process.ended() == 0, "".join(process.errors)[-2000:]

    [request] = [span for span in collector.spans if span.name == "POST /runs/wait"]
    # Not all spans: the worker also takes what an earlier test left in the shared database.
    trace = [span for span in collector.spans if span.trace_id == request.trace_id]
    by_id = {span.span_id: span for span in trace}
    [run] = [span for span in trace if span.name == "invoke_agent simple"]
    chats = [span for span in trace if span.name.startswith("chat ")]
    tools = [span for span in trace if span.name.startswith("execute_tool ")]
    assert chats
    assert tools
    assert request in above(run, by_id)
    for span in (*chats, *tools):
        assert run in above(span, by_id)
    assert b"s3cret" not in b"".join(span.SerializeToString() for span in collector.spans)
    lines = [json.loads(line) for line in worker.errors if line.startswith("{")]
    assert all("s3cret" not in json.dumps(line) for line in lines)
