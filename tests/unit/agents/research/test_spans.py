"""The trace of a research run: its nodes, the tools they call and the search, without contents."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from research_rig import Rig, answering, plan

from bathysphere.agents import research
from bathysphere.agents.research.source_access import GuardedSources, corpus_of
from bathysphere.server.observability import calls

SAMPLE = Path(research.__file__).parent / "sample"


@pytest.fixture
def exporter(monkeypatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(calls.trace, "get_tracer", provider.get_tracer)
    return exporter


async def test_nodes_tools_and_searches_of_a_research_have_spans(exporter):
    steps = plan(("search_corpus", "s3cret bathysphere depth"))
    rig = Rig(answering(PlanForm=steps), pages=GuardedSources(corpus=corpus_of(SAMPLE)))
    tracer = calls.trace.get_tracer("test")
    with tracer.start_as_current_span("run") as run, calls.traced_calls(run):
        await rig.finish("How deep did the s3cret bathysphere go?")
    spans = exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}
    nodes = [span.name for span in spans if span.name.startswith("node ")]
    assert {"node router", "node thinker", "node auditor", "node tool_executor"} <= set(nodes)
    [search] = [span for span in spans if span.name.startswith("search ")]
    above = []
    span = search
    while span.parent is not None:
        span = by_id[span.parent.span_id]
        above.append(span.name)
    assert above == ["execute_tool search_corpus", "node tool_executor", "run"]
    assert search.attributes["bathysphere.search.results"] > 0
    assert any(span.name.startswith("chat ") for span in spans)
    assert "s3cret" not in "".join(span.to_json() for span in spans)
