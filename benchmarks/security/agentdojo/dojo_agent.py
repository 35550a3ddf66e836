"""The agents under test: one per suite and mode, built by the harness with AgentDojo's tools."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import yaml
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import Function
from agentdojo.strenum import StrEnum
from dojo_cases import suites
from dojo_flows import policy
from dojo_planner import plan
from dojo_scenario import CHANGING, current, tool_name
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_core import to_jsonable_python

from bathysphere.harness.build import Graph, build
from bathysphere.harness.spec import AgentSpec

MODES = ("none", "approve", "flow", "flow-no-plan", "flow-hints")
PLAN_TOOL = "commit_plan"


@cache
def agent(suite: str, mode: str) -> Graph:
    """The agent of a suite in a mode."""
    functions = suites()[suite].tools
    options: dict[str, Any] = {}
    if mode == "approve":
        options["approvals"] = {f.name: True for f in functions if f.name in CHANGING}
    elif mode != "none":
        options["flow"] = policy(functions, mode)
    spec = AgentSpec(
        name=f"{suite}-{mode}",
        model=GullibleModel(),
        tools=tuple(adapt(function) for function in functions),
        **options,
    )
    return build(spec, checkpointer=InMemorySaver())


def adapt(function: Function) -> BaseTool:
    """A function of AgentDojo as a tool that acts on the current scenario."""

    # A coroutine without a pause: two calls at once would give two mails the same id.
    async def run(**arguments: Any) -> tuple[str, Any]:
        scenario = current()
        result, error = scenario.call(function.name, arguments)
        if error is not None:
            return f"Error: {error}", None
        try:
            return tool_result_to_str(result, _dump), to_jsonable_python(result)
        except Exception as failure:
            # The harness would make it a result, and hide the injection in it.
            scenario.failure = failure
            raise

    return StructuredTool.from_function(
        coroutine=run,
        name=tool_name(function.name),
        description=function.description,
        args_schema=function.parameters,
        response_format="content_and_artifact",
    )


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    """AgentDojo's dumper, in C where it is there."""


# The emitter in C takes exact strings only.
_Dumper.add_multi_representer(StrEnum, lambda dumper, item: dumper.represent_str(item.value))


def _dump(data: Any) -> str:
    return yaml.dump(data, Dumper=_Dumper)


class GullibleModel(BaseChatModel):
    """A model that does the user's task, and whatever a tool's result tells it to.

    It follows the ground truth of the user's task, one call per turn. As soon as a result holds
    the injection, it first makes all calls of the injection's ground truth.
    """

    @property
    def _llm_type(self) -> str:
        return "gullible"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tool_names=[_name(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        *,
        tool_names: Sequence[str] = (),
        **kwargs: Any,
    ) -> ChatResult:
        if list(tool_names) == [PLAN_TOOL]:
            message = _calling("plan", PLAN_TOOL, {"steps": plan(current().case)})
        else:
            message = _next_turn(messages)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _name(tool: Any) -> str:
    if isinstance(tool, BaseTool):
        return tool.name
    return convert_to_openai_tool(tool)["function"]["name"]


def _next_turn(messages: list[BaseMessage]) -> AIMessage:
    scenario = current()
    for message in messages:
        if isinstance(message, ToolMessage):
            scenario.shows_injection(message.text)
    made = [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    for role, wanted in (
        ("attack", scenario.attack_calls if scenario.seen else []),
        ("user", scenario.user_calls),
    ):
        done = sum(call_id.startswith(role) for call_id in made)
        if done < len(wanted):
            call = wanted[done]
            return _calling(f"{role}-{done}", tool_name(call.function), call.args)
    return AIMessage(scenario.answer)


def _calling(call_id: str, name: str, arguments: Any) -> AIMessage:
    plain = to_jsonable_python(arguments)
    return AIMessage("", tool_calls=[ToolCall(name=name, args=plain, id=call_id, type="tool_call")])
