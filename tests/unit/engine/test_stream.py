"""LangGraph's stream becomes our events, in one place."""

from langchain_core.messages import AIMessageChunk, RemoveMessage, ToolMessage
from langgraph.types import Interrupt

from bathysphere.engine.events.langgraph_stream import StreamEvent, StreamMapper, Token

STARTED = StreamEvent(
    channel="lifecycle", namespace=("tools:1",), data={"event": "started", "graph": "tools"}
)


def part(kind: str, data: object, ns: tuple[str, ...] = ()) -> dict:
    return {"type": kind, "ns": ns, "data": data}


def test_a_token_keeps_its_place():
    chunk = AIMessageChunk(content="he", id="m1")
    started, item = StreamMapper().map(
        part("messages", (chunk, {"langgraph_node": "model"}), ("tools:1",))
    )
    assert started == STARTED
    assert item == Token(namespace=("tools:1",), node="model", chunk=chunk)


def test_a_whole_message_is_an_event():
    message = ToolMessage(content="4", tool_call_id="c1", id="m2")
    (item,) = StreamMapper().map(part("messages", (message, {"langgraph_node": "tools"})))
    assert isinstance(item, StreamEvent)
    assert item.data["event"] == "message"
    assert item.data["message"]["type"] == "tool"


def test_a_message_that_removes_others_is_not_something_that_was_said():
    remove = RemoveMessage(id="__remove_all__")
    assert list(StreamMapper().map(part("messages", (remove, {"langgraph_node": "turn"})))) == []


def test_an_update_names_its_node():
    items = list(StreamMapper().map(part("updates", {"a": {"n": 1}, "b": None})))
    assert [item.data for item in items] == [
        {"node": "a", "values": {"n": 1}},
        {"node": "b", "values": None},
    ]


def test_a_nested_question_is_told_once_when_the_root_has_it_too():
    mapper = StreamMapper()
    question = Interrupt(value={"type": "q"}, id="i1", response_schema={"type": "string"})
    # Until the root has it, an answer would be refused.
    assert list(mapper.map(part("updates", {"__interrupt__": (question,)}, ("tools:1",)))) == [
        STARTED
    ]
    assert not mapper.is_interrupted
    (asked,) = mapper.map(part("updates", {"__interrupt__": (question,)}))
    assert (asked.channel, asked.namespace) == ("input", ("tools:1",))
    assert asked.data == {
        "event": "requested",
        "interrupt_id": "i1",
        "payload": {"type": "q"},
        "response_schema": {"type": "string"},
    }
    assert list(mapper.map(part("updates", {"__interrupt__": (question,)}))) == []
    assert mapper.is_interrupted


def test_a_breakpoint_stops_the_run_without_a_question():
    mapper = StreamMapper()
    assert list(mapper.map(part("updates", {"__interrupt__": ()}))) == []
    assert mapper.is_interrupted


def test_only_the_roots_values_are_passed_on():
    mapper = StreamMapper()
    assert list(mapper.map(part("values", {"n": 1}, ("tools:1",)))) == [STARTED]
    assert [item.data for item in mapper.map(part("values", {"n": 1}))] == [{"n": 1}]


def test_a_checkpoint_event_holds_no_state():
    data = {
        "config": {"configurable": {"checkpoint_id": "c2"}},
        "parent_config": {"configurable": {"checkpoint_id": "c1"}},
        "metadata": {"step": 1, "source": "loop"},
        "values": {"secret": "state"},
        "next": ["a"],
    }
    (item,) = StreamMapper().map(part("checkpoints", data))
    assert item.data == {
        "id": "c2",
        "parent_id": "c1",
        "step": 1,
        "source": "loop",
        "next": ["a"],
    }


def test_a_subagent_is_told_with_the_call_that_sent_it_out():
    mapper = StreamMapper()
    call = {"name": "task", "args": {"description": "x"}, "id": "c1", "type": "tool_call"}
    task = {"id": "1", "name": "tools", "input": {"tool_call": call}, "triggers": []}
    assert list(mapper.map(part("tasks", task))) == []  # told only where a run asked for tasks
    (started,) = mapper.map(part("values", {}, ("tools:1",)))
    assert started.data["cause"] == {"type": "toolCall", "tool_call_id": "c1"}
    ended = {"id": "1", "name": "tools", "result": {}, "error": None, "interrupts": []}
    assert [item.data["event"] for item in mapper.map(part("tasks", ended))] == ["completed"]


def test_tasks_are_shown_where_a_run_asked_for_them():
    task = {"id": "1", "name": "tools", "input": None, "triggers": []}
    (item,) = StreamMapper(shows_tasks=True).map(part("tasks", task))
    assert item.channel == "tasks"


async def test_a_call_in_text_is_not_streamed_as_text():
    from bathysphere.harness.build import build
    from bathysphere.harness.spec import AgentSpec
    from bathysphere.server.protocol.messages import MessageWriter
    from bathysphere.testing import ScriptedChatModel, calls, says

    text = '{"name": "ls", "arguments": {"path": "/"}}'
    task = calls("task", description="x", subagent_type="general-purpose")
    script = [says(f"Look.\n{text}"), task, says(text), says("sub"), says("All done.")]
    graph = build(AgentSpec(name="weak", model=ScriptedChatModel(script=script)))
    mapper, writer, words, made = StreamMapper(), MessageWriter(), [], []
    async for one in graph.astream(
        {"messages": [("user", "hi")]},
        stream_mode=["updates", "messages"],
        subgraphs=True,
        version="v2",
    ):
        for item in mapper.map(one):
            if isinstance(item, Token):
                data = {"event": "chunk", "chunk": item.chunk.model_dump(), "node": item.node}
            elif item.channel == "messages":
                data = item.data
            else:
                continue
            for event in writer.write(item.namespace, data):
                if event["event"] == "content-block-finish":
                    block = event["content"]
                    words += [block["text"]] if block["type"] == "text" else []
                    if block["type"] == "tool_call":
                        made.append((len(item.namespace), block["name"]))
    assert [word for word in words if "arguments" in word] == []
    assert "All done." in words
    assert made == [(0, "ls"), (0, "task"), (1, "ls")]
