"""Fused layers cost no thread in async, and are still one span of a trace with all that they do."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langsmith import Client, tracing_context

from bathysphere.flow import FlowPolicy, flow
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, fails, says

INPUT: Any = {"messages": [("user", "go")]}
HOOKS = ("FilesystemMiddleware.awrap_model_call", "FilesystemMiddleware.awrap_tool_call")


@tool
async def echo(text: str) -> str:
    """Return the text."""
    await asyncio.sleep(0.02)
    return text


def agent(*turns: Any) -> Any:
    policy = FlowPolicy(tools={"echo": flow(acts=True, text="text")}, planner="none")
    model = ScriptedChatModel(script=list(turns))
    return build(AgentSpec(name="fused", model=model, tools=(echo,), prompt="", flow=policy))


class Traces(Client):
    """Keeps the runs of a trace."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="test", auto_batch_tracing=False)
        self.kept: dict[str, dict[str, Any]] = {}

    def create_run(self, name: str, inputs: Any, run_type: Any, **rest: Any) -> None:
        self.kept[str(rest["id"])] = {"name": name, "inputs": inputs, **rest}

    def update_run(self, run_id: Any, **rest: Any) -> None:
        given = {key: value for key, value in rest.items() if value is not None}
        self.kept[str(run_id)].update(given)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [run for run in self.kept.values() if run["name"] == name]

    def parent(self, run: dict[str, Any]) -> dict[str, Any]:
        return self.kept[str(run["parent_run_id"])]


async def traced(graph: Any) -> Traces:
    client = Traces()
    with tracing_context(enabled=True, client=client):
        await graph.ainvoke(INPUT)
    return client


async def test_a_step_without_sync_code_starts_no_thread(monkeypatch):
    loop, started = asyncio.get_running_loop(), []
    real = loop.run_in_executor

    def record(executor: Any, function: Any, *args: Any) -> Any:
        started.append(function)
        return real(executor, function, *args)

    monkeypatch.setattr(loop, "run_in_executor", record)
    result = await agent(calls("echo", text="a"), says("done")).ainvoke(INPUT)
    assert result["messages"][-1].text == "done"
    assert started == []


async def test_a_traced_run_has_models_and_tools_within_the_spans_of_the_layers():
    client = await traced(agent(calls("echo", text="a"), says("done")))
    for child, hook in (("ScriptedChatModel", HOOKS[0]), ("echo", HOOKS[1])):
        assert [client.parent(run)["name"] for run in client.named(child)] == [hook] * len(
            client.named(child)
        )
        assert client.named(child)


async def test_the_span_of_the_layers_ends_with_what_runs_within():
    client = await traced(agent(calls("echo", text="a"), says("done")))
    (run,) = client.named("echo")
    (span,) = client.named(HOOKS[1])
    assert span["end_time"] >= run["end_time"]


async def test_the_span_of_the_layers_says_that_they_failed():
    graph = agent(calls("echo", text="a"), fails(RuntimeError("out of order")))
    client = Traces()
    with tracing_context(enabled=True, client=client), pytest.raises(RuntimeError):
        await graph.ainvoke(INPUT)
    failed = [run for run in client.named(HOOKS[0]) if run.get("error")]
    assert len(failed) == 1
    assert "out of order" in failed[0]["error"]


async def test_a_trace_that_cannot_be_kept_fails_no_run(monkeypatch):
    client = Traces()

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route")

    monkeypatch.setattr(client, "update_run", refuse)
    with tracing_context(enabled=True, client=client):
        result = await agent(calls("echo", text="a"), says("done")).ainvoke(INPUT)
    assert result["messages"][-1].text == "done"


async def test_a_step_whose_layers_write_one_field_is_one_update():
    text = '{"name": "echo", "arguments": {"text": "a"}}'  # counted, as is the model call
    graph = build(
        AgentSpec(
            name="fused", model=ScriptedChatModel(script=[says(text), says("ok")]), tools=(echo,)
        )
    )
    parts = [part["model"] async for part in graph.astream(INPUT) if "model" in part]
    assert all(isinstance(part, dict) for part in parts)
    assert parts[0]["usage"]["corrections"] == {"": {"text_call": 1}}
    assert parts[0]["usage"]["by"][""][0] == 1
