"""A model that asks before it answers: it calls `confirm`, then says what the person decided."""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class AskingModel(BaseChatModel):
    """Plays its two turns for every question."""

    @property
    def _llm_type(self) -> str:
        return "asking"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages: list[BaseMessage], *_, **__) -> ChatResult:
        last = messages[-1]
        if last.type == "tool":
            message = AIMessage(f"You decided: {last.text}")
        else:
            call = {"name": "confirm", "args": {"what": last.text}, "id": f"c{len(messages)}"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])
