"""The Files layer sends the model what deepagents' would, without a look at every old message."""

from typing import Any

from deepagents.backends import StateBackend
from deepagents.middleware.filesystem import FilesystemMiddleware
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from bathysphere.middleware.files import FilesMiddleware
from bathysphere.testing import ScriptedChatModel

MODEL = ScriptedChatModel(script=[])


def asks(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "read_file", "args": {}, "id": i} for i in ids])


messages = st.lists(
    st.sampled_from(
        [
            lambda: HumanMessage("a question"),
            lambda: HumanMessage("a note", additional_kwargs={"by": "somebody"}),
            lambda: HumanMessage("long " * 200, additional_kwargs={"lc_evicted_to": "/long.md"}),
            lambda: HumanMessage("a frame", additional_kwargs={"read_file_media_result": True}),
            lambda: AIMessage("an answer"),
            lambda: asks("1", "2"),
            lambda: ToolMessage("a result", tool_call_id="1", name="read_file"),
        ]
    ).map(lambda make: make()),
    max_size=12,
)


def sent(layer: FilesystemMiddleware, history: list[AnyMessage]) -> list[tuple[str, Any]]:
    """The messages that the model gets from a layer."""
    got: list[AnyMessage] = []

    def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        got.extend(request.messages)
        return ModelResponse(result=[AIMessage("done")])

    state: Any = {"messages": history}
    layer.wrap_model_call(
        ModelRequest(model=MODEL, messages=list(history), tools=[], state=state), handler
    )
    return [(message.type, message.content) for message in got]


@given(messages)
def test_the_model_gets_what_deepagents_layer_would_send(history):
    ours, theirs = FilesMiddleware(StateBackend()), FilesystemMiddleware(backend=StateBackend())
    assert sent(ours, history) == sent(theirs, history)
