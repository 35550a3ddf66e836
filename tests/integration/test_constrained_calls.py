"""Constrained calls over real wires: the schema is in the request, and the tool is really run."""

import asyncio
import json

import jsonschema
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from bathysphere.agents.research.structured_output import AnswerUnusable, Asker
from bathysphere.cli.main import main
from bathysphere.cli.talk.events import AgentText, Reader, ToolResult
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.constrained_calls import ConstrainedCallsMiddleware
from bathysphere.middleware.text_calls import TextCallsMiddleware
from bathysphere.models import llamacpp_chat
from bathysphere.models.constrained_calls import functions_of, read_step, step_schema
from bathysphere.models.llamacpp import SERVERS
from bathysphere.models.probes import CALLS, SCHEMA
from bathysphere.models.profiles import ModelReport, ProbeResult, load_report, save_report
from bathysphere.models.resolve import Models, calls_constrained, resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.models.structured_output import schema_settings
from bathysphere.models.tokens import limit_output
from bathysphere.testing import ModelServer, SmallModel, refuses, says
from bathysphere.testing.small_model import fetch as small_model_file

# LangChain keeps the clients' connections open.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
    pytest.mark.usefixtures("open_connections"),
]

NO_TOOLS = "registry.ollama.ai/library/scripted does not support tools"
FENCED = '```json\n{"name": "sea_depth", "arguments": {"place": "Bermuda"}}\n```'
PROBED = [
    says("Hello."),
    says("BLUE"),
    says("Der Himmel ist blau."),
    "the answer to the question that needs a tool",
    says(json.dumps({"name": "Halibut", "lives_deep": True, "metres": 2000})),
    says("HALIBUT"),
    says("one two three four five six"),
]
STYLES = {
    "ollama": ("ollama:scripted", "/api/chat", refuses(400, NO_TOOLS)),
    "lm-studio": ("lm-studio:scripted", "/v1/chat/completions", says(FENCED)),
    "vllm": ("openai:scripted", "/v1/chat/completions", says("I cannot do that.")),
}


@tool
def sound(place: str, metres: int = 1) -> str:
    """Sound the depth of the sea."""
    return f"{place}: {metres} m"


FOREIGN = {
    "type": "function",
    "function": {
        "name": "grow",
        "description": "Grow a tree.",
        "parameters": {
            "type": "object",
            "properties": {
                "tree": {"$ref": "#/$defs/Node"},
                "anything": {},
                "maybe": {"anyOf": [{"type": "string", "maxLength": 90_000}, {"type": "null"}]},
                "more": {"type": "object", "additionalProperties": {"type": "integer"}},
                "code": {"type": "string", "pattern": "(?i)[a-z"},
            },
            "required": ["tree", "anything", "maybe", "more", "code"],
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {"parts": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                    "required": ["parts"],
                }
            },
        },
    },
}
"""Another program's tool, with what a server may refuse."""


def step(**arguments):
    return says(json.dumps({"next": {"tool": "sound", "arguments": arguments}}))


def answer(words):
    return says(json.dumps({"next": {"answer": words}}))


@pytest.fixture
def environment(monkeypatch, tmp_path):
    def point_to(base, openai):
        monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(tmp_path))
        monkeypatch.setenv("BATHYSPHERE_MODEL_OPENAI_URL", openai)
        monkeypatch.setenv("BATHYSPHERE_MODEL_LM_STUDIO_URL", openai)
        monkeypatch.setenv("BATHYSPHERE_MODEL_OLLAMA_URL", base)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        return ModelSettings.from_environment()

    return point_to


def schema_in(body):
    """The schema that a request carries, in the way of its wire."""
    if "format" in body:
        return body["format"]
    return body["response_format"]["json_schema"]["schema"]


async def talk(models, *tools):
    spec = AgentSpec(name="plain", model=models.main, tools=tools, profile=models.profile)
    graph = build(spec, checkpointer=InMemorySaver())
    reader = Reader(graph=graph, config={"configurable": {"thread_id": "1"}})
    events = [e async for e in reader.run({"messages": [("user", "How deep is the sea?")]})]
    results = [event.text for event in events if isinstance(event, ToolResult)]
    return results, [event.text for event in events if isinstance(event, AgentText)]


@pytest.mark.node
@pytest.mark.parametrize("style", STYLES)
async def test_a_model_that_failed_native_calls_works_with_a_schema(style, environment, capsys):
    name, path, failed = STYLES[style]
    with ModelServer([failed if isinstance(turn, str) else turn for turn in PROBED]) as server:
        settings = environment(server.url, server.openai_base_url)
        settings = settings.model_copy(update={"main": name})
        assert not calls_constrained(resolve(name, settings))
        assert await _tested(name) == 0
        server.assert_done()
        states = {probe.name: probe.state for probe in load_report(name, settings).probes}
        assert (states[CALLS], states[SCHEMA]) == ("failed", "passed")
        assert "Tools:   by answers that are constrained" in capsys.readouterr().out

        server.play([step(place="Guam", metres=10935), answer("It is 10,935 metres deep.")])
        results, said = await talk(Models.from_settings(settings), sound)
        server.assert_done()
        requests = server.requests()
    assert results == ["Guam: 10935 m"]
    assert "".join(said) == "It is 10,935 metres deep."
    assert len(said) > 1  # in pieces, as they came
    assert {request.path for request in requests} == {path}
    for request in requests:
        assert "tools" not in request.body or not request.body["tools"]
        forms = schema_in(request.body)["properties"]["next"]["anyOf"]
        assert forms[0]["required"] == ["answer"]
        assert "sound" in [f["properties"].get("tool", {}).get("const") for f in forms]
        assert json.dumps(request.body["messages"]).count("Sound the depth of the sea.") == 1


async def _tested(name):
    return await asyncio.to_thread(main, ["models", "test", name])


@pytest.mark.node
async def test_a_server_that_refuses_the_schema_goes_on_with_calls_in_text(environment):
    name, _, failed = STYLES["lm-studio"]
    called = says('```json\n{"name": "sound", "arguments": {"place": "Guam"}}\n```')
    with ModelServer([failed if isinstance(turn, str) else turn for turn in PROBED]) as server:
        settings = environment(server.url, server.openai_base_url)
        settings = settings.model_copy(update={"main": name})
        assert await _tested(name) == 0
        server.play([refuses(400, "failed to parse grammar"), called, says("One metre.")])
        results, said = await talk(Models.from_settings(settings), sound)
        server.assert_done()
        requests = server.requests()
    assert results == ["Guam: 1 m"]
    assert "".join(said) == "One metre."
    assert ["response_format" in request.body for request in requests] == [True, False, False]


@pytest.mark.small_model
@pytest.mark.timeout(300)
@pytest.mark.long("tests/integration/test_small_model.py::test_it_keeps_to_a_json_schema")
async def test_the_small_real_model_writes_only_words_or_valid_calls(environment):
    tools = functions_of([sound])
    with SmallModel() as server:
        settings = environment(server.url, server.base_url)
        settings = settings.model_copy(update={"temperature": 1.0})
        model = limit_output(resolve(f"lm-studio:{server.name}", settings), 96)
        model = model.model_copy(update={"seed": 7})
        seen = set()
        for words in (True, False):
            schema = step_schema(tools, words=words)
            asked = model.bind(**schema_settings(model, schema))
            for question in ("How deep is it at Guam?", "Say hello.", "No JSON, please!"):
                message = await asked.ainvoke(question)
                read = read_step(message.text)
                assert read is not None, message.text
                if message.response_metadata["finish_reason"] == "stop":
                    jsonschema.validate(json.loads(message.text), schema)
                    assert read.words is not None or read.arguments is not None
                seen.add("words" if read.words is not None else "call")
                assert words or read.words is None
    assert "call" in seen


def report_of(name):
    """What `models test` says about a model that calls no tool, but keeps to a schema."""
    states = {CALLS: "failed", SCHEMA: "passed"}
    probes = tuple(ProbeResult(name=probe, state=state) for probe, state in states.items())
    return ModelReport(
        model=name, profile="lean", trust="", probes=probes, tested_at="2026-11-18T00:00:00"
    )


@pytest.mark.long("tests/integration/test_small_model.py::test_it_keeps_to_a_json_schema")
@pytest.mark.small_model
@pytest.mark.timeout(300)
def test_llama_cpp_in_process_is_constrained_and_still_tells_its_progress(monkeypatch):
    path, told = small_model_file(), []
    monkeypatch.setattr(llamacpp_chat, "get_stream_writer", lambda: told.append)
    settings = ModelSettings(folder=path.parent, threads=1, context_tokens=2048, temperature=0)
    model = limit_output(resolve(f"llamacpp:{path.stem}", settings), 60)
    schema = step_schema(functions_of([sound]), words=False)
    try:
        question = "The log of the day: a calm sea. " * 45
        chunks = [*model.bind(**schema_settings(model, schema)).stream(question)]
    finally:
        SERVERS.close()
    assert read_step("".join(chunk.text for chunk in chunks)).tool == "sound"
    assert {event["name"] for event in told} == {"prompt_progress"}


@pytest.mark.small_model
@pytest.mark.timeout(300)
async def test_llama_cpp_takes_the_schema_of_any_tool(environment):
    schema = step_schema(functions_of([FOREIGN]), words=False)
    with SmallModel() as server:
        settings = environment(server.url, server.base_url)
        settings = settings.model_copy(update={"temperature": 0})
        model = limit_output(resolve(f"lm-studio:{server.name}", settings), 60)
        message = await model.bind(**schema_settings(model, schema)).ainvoke("Grow a tree.")
    assert read_step(message.text).tool == "grow"


@wrap_model_call
async def sounds_once(request, handler):
    """Left alone, this model would go on for ever."""
    if len(request.messages) == 1:
        return await handler(request.override(tool_choice="sound"))
    return await handler(request.override(tools=[]))


@pytest.mark.small_model
@pytest.mark.timeout(300)
@pytest.mark.long("tests/integration/test_small_model.py::test_it_keeps_to_a_json_schema")
async def test_the_small_real_model_runs_a_tool_and_answers(environment):
    with SmallModel() as server:
        name = f"lm-studio:{server.name}"
        settings = environment(server.url, server.base_url)
        save_report(report_of(name), settings)
        settings = settings.model_copy(update={"temperature": 0})
        model = limit_output(resolve(name, settings), 96)
        layers = [sounds_once, TextCallsMiddleware(), ConstrainedCallsMiddleware()]
        agent = create_agent(model, [sound], middleware=layers)
        state = await agent.ainvoke(
            {"messages": [("user", "How deep is the sea at Guam?")]}, {"recursion_limit": 6}
        )
    called, result, *_ = state["messages"][1:]
    [call] = called.tool_calls
    assert call["name"] == "sound"
    assert result.text == sound.invoke(call["args"])
    assert state["messages"][-1].text.strip()


class Poem(BaseModel):
    """A poem."""

    text: str


@pytest.mark.long("tests/integration/test_small_model.py::test_it_keeps_to_a_json_schema")
@pytest.mark.small_model
@pytest.mark.timeout(300)
async def test_a_structured_answer_that_is_cut_off_is_asked_for_again(environment):
    with SmallModel() as server:
        settings = environment(server.url, server.base_url)
        model = limit_output(resolve(f"lm-studio:{server.name}", settings), 6)
        with pytest.raises(AnswerUnusable, match="not one JSON object"):
            await Asker(model=model).ask(Poem, system="Be brief.", user="Write a long poem.")
