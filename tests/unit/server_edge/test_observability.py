"""Logs, meters and spans: what they show, and that they show no contents."""

import asyncio
import contextlib
import io
import itertools
import json
import logging
import sys
import time
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.tracing import span, tool_span
from bathysphere.engine.events.log import Event
from bathysphere.engine.events.memory_log import MemoryEventLog
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.server.observability import calls as calls_module
from bathysphere.server.observability.calls import traced_calls
from bathysphere.server.observability.logs import JsonLines, TextLines, bind, bound, set_up_logs
from bathysphere.server.observability.loop_lag import measure_loop_lag
from bathysphere.server.observability.measured import MeasuredLog
from bathysphere.server.observability.metrics import Metrics
from bathysphere.testing import ScriptedChatModel, calls, says
from bathysphere.testing.event_log_contract import ME
from bathysphere.tools.search.contract import search_with

# ── logs ──


def record(message: str, *, error: BaseException | None = None, **fields) -> logging.LogRecord:
    made = logging.LogRecord("bathysphere.x", logging.WARNING, __file__, 1, message, (), None)
    if error is not None:
        try:
            raise error
        except type(error):
            made.exc_info = sys.exc_info()
    made.fields = fields
    return made


def test_a_line_says_which_request_and_run_it_belongs_to():
    with bound(request_id="req_1"), bound(run_id="r"):
        line = json.loads(JsonLines().format(record("hello", status=200)))
    assert (line["message"], line["request_id"], line["run_id"]) == ("hello", "req_1", "r")
    assert (line["level"], line["status"]) == ("warning", 200)
    assert "run_id" not in json.loads(JsonLines().format(record("later")))


def test_what_a_task_binds_ends_with_what_is_around_it():
    with bound(run_id="r"):
        bind(thread_id="t")
        assert json.loads(JsonLines().format(record("x")))["thread_id"] == "t"
    assert "thread_id" not in json.loads(JsonLines().format(record("x")))


@pytest.mark.parametrize("lines", [JsonLines, TextLines])
def test_the_text_of_an_error_is_only_logged_when_asked_for(lines):
    failed = record("run failed", error=ValueError("Dear diary, s3cret"))
    shy, open_ = lines(contents=False).format(failed), lines(contents=True).format(failed)
    assert "ValueError" in shy
    assert "s3cret" not in shy
    assert "s3cret" in open_


@pytest.mark.parametrize("lines", [JsonLines, TextLines])
def test_an_error_within_a_message_is_named_and_not_quoted(lines):
    quoting = record("run %s failed: %r")
    quoting.args = ("r1", ValueError("s3cret"))
    away = record("cannot reach it: %s")
    away.args = (ConnectionRefusedError("no route to host"),)
    assert "run r1 failed: 'ValueError'" in lines().format(quoting).replace('\\"', '"')
    assert "s3cret" in lines(contents=True).format(quoting)
    assert "no route to host" in lines().format(away)


@pytest.mark.parametrize("lines", [JsonLines(contents=True), TextLines(contents=True)])
def test_e_cash_is_never_logged_even_where_contents_are(lines):
    token = "cashuBo2FteBtodHRwczovL21pbnQuZXhhbXBsZQ-_=="
    line = lines.format(record(f"took {token}", error=ValueError(f"bad {token}")))
    assert "took cashu…" in line
    assert "o2Fte" not in line


def test_a_line_end_in_a_message_does_not_make_a_second_line():
    line = JsonLines().format(record('a\n{"level":"forged"}'))
    assert len(line.splitlines()) == 1


def test_libraries_that_log_prompts_are_kept_quiet():
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        set_up_logs(format="json", level="debug", stream=stream)
        logging.getLogger("openai._base_client").debug("prompt s3cret")
        logging.getLogger("httpx").info("GET s3cret")
        logging.getLogger("bathysphere.engine").info("mine")
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)
    assert "s3cret" not in stream.getvalue()
    assert "mine" in stream.getvalue()


# ── meters ──


def lifecycle(run_id: str, event: str, **data) -> bytes:
    return Event(
        channel="lifecycle", run_id=run_id, data={"event": event, "graph": "simple", **data}
    ).encode()


async def test_ends_of_runs_are_counted_as_they_pass_the_log():
    metrics, clock = Metrics(), SystemClock()
    log = MeasuredLog(MemoryEventLog(clock=clock), metrics, clock=clock)
    thread = uuid4()
    await log.append(thread, [lifecycle("a", "started"), lifecycle("b", "running")], owner=ME)
    other = Event(channel="updates", run_id="a", data={"event": "x", "status": "success"}).encode()
    await log.append(thread, [other, lifecycle("a", "completed", status="success")], owner=ME)
    await log.append(thread, [lifecycle("b", "handed_on")], owner=ME)
    lost = {"code": "worker_lost", "message": "…"}
    await log.append(thread, [lifecycle("c", "failed", status="error", error=lost)], owner=ME)
    text = metrics.render().decode()
    assert 'bathysphere_runs_ended_total{graph="simple",status="success"} 1.0' in text
    assert 'bathysphere_runs_ended_total{graph="simple",status="error"} 1.0' in text
    assert 'bathysphere_run_seconds_count{graph="simple"} 1.0' in text
    assert "bathysphere_dead_letters_total 1.0" in text
    assert await log.last_id(thread) > 0


async def test_a_blocked_loop_is_late():
    metrics = Metrics()
    task = asyncio.create_task(measure_loop_lag(metrics, SystemClock(), every=0.01))
    await asyncio.sleep(0.05)
    time.sleep(0.3)  # noqa: ASYNC251  # what is measured
    await asyncio.sleep(0.05)
    task.cancel()
    assert metrics.registry.get_sample_value("bathysphere_loop_lag_seconds_sum") > 0.28
    late = metrics.registry.get_sample_value("bathysphere_loop_lag_seconds_bucket", {"le": "0.25"})
    assert metrics.registry.get_sample_value("bathysphere_loop_lag_seconds_count") - late == 1


# ── spans ──


@pytest.fixture
def spans(monkeypatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(calls_module.trace, "get_tracer", provider.get_tracer)
    exporter.tracer = provider.get_tracer("test")
    return exporter


@tool
def look(what: str) -> str:
    """Look."""
    if what == "nowhere":
        raise LookupError("s3cret place")
    if what == "ask":
        interrupt({"type": "question"})
    inner = create_agent(ScriptedChatModel(script=[says("inner s3cret")]), [])
    inner.invoke({"messages": [("user", "s3cret")]})
    return "found s3cret"


async def run(spans, *script):
    agent = create_agent(ScriptedChatModel(script=list(script)), [look])
    with (
        spans.tracer.start_as_current_span("run") as span,
        traced_calls(span),
        contextlib.suppress(LookupError),
    ):
        await agent.ainvoke({"messages": [("user", "s3cret question")]})
    return {s.name: s for s in spans.get_finished_spans()}, spans.get_finished_spans()


async def test_models_and_tools_have_spans_below_the_run_and_a_subagent_below_its_tool(spans):
    by_name, all_spans = await run(spans, calls("look", what="there"), says("done s3cret"))
    root, tool_span = by_name["run"], by_name["execute_tool look"]
    chats = [s for s in all_spans if s.name.startswith("chat ")]
    assert tool_span.parent.span_id == root.context.span_id
    below_tool = [s for s in chats if s.parent.span_id == tool_span.context.span_id]
    below_run = [s for s in chats if s.parent.span_id == root.context.span_id]
    assert (len(below_tool), len(below_run)) == (1, 2)
    assert tool_span.attributes["gen_ai.tool.name"] == "look"
    assert chats[0].attributes["gen_ai.operation.name"] == "chat"
    assert "s3cret" not in "".join(s.to_json() for s in all_spans)


async def test_a_failing_tool_shows_its_kind_of_error_and_not_its_text(spans):
    by_name, _ = await run(spans, calls("look", what="nowhere"))
    span = by_name["execute_tool look"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "LookupError"
    assert "s3cret" not in span.to_json()


async def test_a_tool_that_waits_for_a_person_has_not_failed(spans):
    by_name, _ = await run(spans, calls("look", what="ask"))
    assert by_name["execute_tool look"].status.status_code is StatusCode.UNSET


async def test_nodes_of_a_graph_and_what_they_do_have_spans_without_contents(spans):
    class Failing:
        name = "own"

        async def search(self, query: str, *, limit: int = 8) -> list[Any]:
            with span("fetch") as fetched:
                fetched.set("http.response.status_code", 503)
            raise LookupError(f"nothing on {query}")

    async def look_up(state: dict[str, Any]) -> dict[str, Any]:
        with tool_span("web_search"), contextlib.suppress(LookupError):
            await search_with(Failing(), "s3cret", limit=1)
        return {}

    async def fail(state: dict[str, Any]) -> dict[str, Any]:
        raise LookupError("s3cret")

    builder = StateGraph(dict)
    builder.add_node("look_up", look_up)
    builder.add_node("fail", fail)
    builder.add_edge(START, "look_up")
    builder.add_edge("look_up", "fail")
    with (
        spans.tracer.start_as_current_span("run") as run_span,
        traced_calls(run_span),
        contextlib.suppress(LookupError),
    ):
        await builder.compile().ainvoke({"question": "s3cret"})
    found = {each.name: each for each in spans.get_finished_spans()}
    chain = ("run", "node look_up", "execute_tool web_search", "search own", "fetch")
    for above, below in itertools.pairwise(chain):
        assert found[below].parent.span_id == found[above].context.span_id, below
    assert found["fetch"].attributes["http.response.status_code"] == 503
    assert found["search own"].attributes["error.type"] == "LookupError"
    assert found["node look_up"].status.status_code is StatusCode.UNSET
    assert found["node fail"].attributes["error.type"] == "LookupError"
    assert set(found) == {*chain, "node fail"}
    assert "s3cret" not in "".join(each.to_json() for each in found.values())
    with span("fetch") as off:
        off.set("x", 1)
    assert len(spans.get_finished_spans()) == len(found)


async def test_without_tracing_nothing_is_recorded(spans):
    agent = create_agent(ScriptedChatModel(script=[says("x")]), [])
    await agent.ainvoke({"messages": [("user", "y")]})
    assert spans.get_finished_spans() == ()


def test_a_text_line_has_no_control_characters_of_a_request():
    given = {"msg": "GET %s", "args": ("/a\nforged line\x1b[31m\r\u202e\x9b",)}
    written = TextLines().format(logging.makeLogRecord(given))
    assert "\n" not in written
    assert "\x1b" not in written
    assert "/a\\x0aforged line\\x1b[31m\\x0d\\u202e\\x9b" in written


class NoLog(MemoryEventLog):
    """A log that takes nothing."""

    async def append(self, *_: Any, **__: Any) -> int:
        raise UpstreamError("Redis is unavailable")


async def test_events_that_the_log_does_not_take_are_counted():
    metrics, clock = Metrics(), SystemClock()
    log = MeasuredLog(NoLog(clock=clock), metrics, clock=clock)
    with pytest.raises(UpstreamError):
        await log.append(uuid4(), [b"{}", b"{}"], owner=ME)
    assert metrics.registry.get_sample_value("bathysphere_events_dropped_total") == 2


async def test_a_correction_is_an_event_on_the_span_of_its_agent(spans):
    text = '{"name": "ls", "arguments": {"path": "/s3cret"}}'
    model = ScriptedChatModel(script=[says(text), says("done")])
    agent = build(AgentSpec(name="weak", model=model))
    with spans.tracer.start_as_current_span("run") as span, traced_calls(span):
        await agent.ainvoke({"messages": [("user", "look")]})
    [root] = [s for s in spans.get_finished_spans() if s.name == "run"]
    [event] = root.events
    assert event.name == "bathysphere.correction"
    assert dict(event.attributes) == {
        "bathysphere.correction.kind": "text_call",
        "bathysphere.correction.about": "ls",
    }
    assert "s3cret" not in root.to_json()


class _SteppedClock:
    """A clock that moves on by a quarter of a second whenever it is read."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        self.seconds += 0.25
        return self.seconds


async def test_the_span_of_a_streamed_answer_has_its_first_token_and_its_speed(spans):
    model = ScriptedChatModel(answer=lambda _: says("one two three four five six"))
    agent = build(AgentSpec(name="fast", model=model))
    given = {"messages": [("user", "count")]}
    with spans.tracer.start_as_current_span("run") as span, traced_calls(span, _SteppedClock()):
        async for _ in agent.astream(given, stream_mode="messages"):
            pass
    [call] = [s for s in spans.get_finished_spans() if s.name.startswith("chat")]
    assert call.attributes["bathysphere.model.first_token_s"] == 0.25
    # Six tokens, of which five came in the quarter of a second after the first.
    assert call.attributes["gen_ai.usage.output_tokens"] == 6
    assert call.attributes["bathysphere.model.tokens_per_s"] == 20


async def test_an_answer_in_one_piece_has_no_speed(spans):
    agent = build(AgentSpec(name="plain", model=ScriptedChatModel(answer=lambda _: says("Hi."))))
    with spans.tracer.start_as_current_span("run") as span, traced_calls(span):
        await agent.ainvoke({"messages": [("user", "hi")]})
    [call] = [s for s in spans.get_finished_spans() if s.name.startswith("chat")]
    assert not [name for name in call.attributes if name.startswith("bathysphere.model")]
