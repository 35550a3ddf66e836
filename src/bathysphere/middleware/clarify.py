"""Clarify: tools for the agent to ask the person clarifying questions.

Adds `ask_user` and `ask_choices`. Calling one pauses the run with an interrupt of type
`clarification_request`; the person's answer, validated before it is saved, becomes the tool's
result. The model may ask at most `max_questions` questions per run.

Order: among the agent's own layers. State: `clarify`.
"""

from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents import AgentState
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from bathysphere.core.writers import ByEngine
from bathysphere.models.answers import ANSWER
from bathysphere.models.short_tool import ShortTool

# ── text for the model ──

ASK_USER = """Ask the person one short question and wait for the answer. Use it only when two
readings of the request lead to different work. Never ask about your own tools, to confirm the
obvious, or what a message or file answers already; {budget}."""

ASK_CHOICES = """Like `ask_user`, with two to six options to choose from. `allow_freeform` lets them
add words of their own."""

BUDGET = "at most {max_questions} questions in a run"
NONE_LEFT = "No questions are left in this run. State your assumption in your answer and go on."
CHOSE = "The person chose: {choice}"
ADDED = "They added: {words}"

# ── state ──


class AskedQuestions(TypedDict):
    """The questions of one run, by tool call id."""

    run: str
    calls: list[str]


def join_questions(left: AskedQuestions | None, right: AskedQuestions | None) -> AskedQuestions:
    """Reducer that merges questions; a newer run starts over."""
    if not left or not right or left["run"] != right["run"]:
        return right or left or {"run": "", "calls": []}
    new = [call for call in right["calls"] if call not in left["calls"]]
    return {"run": left["run"], "calls": [*left["calls"], *new]}


class ClarifyState(AgentState[Any]):
    """State of the Clarify layer."""

    run_id: NotRequired[ByEngine[str]]
    clarify: NotRequired[Annotated[ByEngine[AskedQuestions], join_questions]]


# ── questions and answers ──
# Clients and the engine validate answers by JSON Schema alone, so it must be complete.

_NON_BLANK = r"\S"


class Option(BaseModel):
    """One option."""

    id: str = Field(min_length=1)
    label: str = Field(min_length=1, description="What the person reads.")


class Answer(BaseModel):
    """The answer to `ask_user`."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    response: str = Field(min_length=1, max_length=20_000, pattern=_NON_BLANK)


class _Question(BaseModel):
    question: str = Field(min_length=1)


class _Choices(_Question):
    options: list[Option] = Field(min_length=2, max_length=6)
    allow_multiple: bool = False
    allow_freeform: bool = False

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: list[Option]) -> list[Option]:
        if len({option.id for option in options}) < len(options):
            message = "option ids must be unique"
            raise ValueError(message)
        return options


# ── middleware ──


class ClarifyMiddleware(AgentMiddleware[ClarifyState, Any, Any]):
    """Gives the agent `ask_user` and `ask_choices`."""

    state_schema = ClarifyState

    def __init__(self, *, max_questions: int = 3, choices: bool = True) -> None:
        super().__init__()
        if max_questions < 1:
            message = f"max_questions must be at least 1, got {max_questions}"
            raise ValueError(message)
        self.max_questions = max_questions
        budget = BUDGET.format(max_questions=max_questions)
        self.tools = [
            ShortTool.from_function(
                self._ask_user,
                name="ask_user",
                description=ASK_USER.format(budget=budget),
                args_schema=_Question,
                infer_schema=False,
            ),
        ]
        if choices:
            self.tools.append(
                ShortTool.from_function(
                    self._ask_choices,
                    name="ask_choices",
                    description=ASK_CHOICES,
                    args_schema=_Choices,
                    infer_schema=False,
                )
            )

    def _ask_user(self, question: str, runtime: ToolRuntime) -> Command[Any]:
        if not self._may_ask(runtime):
            return _result(runtime, NONE_LEFT)
        answer = interrupt(_request(runtime, "ask_user", question), response_schema=Answer)
        return _result(runtime, answer.response, answer=answer.response)

    def _ask_choices(
        self,
        question: str,
        options: list[Option],
        runtime: ToolRuntime,
        *,
        allow_multiple: bool = False,
        allow_freeform: bool = False,
    ) -> Command[Any]:
        if not self._may_ask(runtime):
            return _result(runtime, NONE_LEFT)
        value = _request(runtime, "ask_choices", question) | {
            "options": [option.model_dump() for option in options],
            "allow_multiple": allow_multiple,
            "allow_freeform": allow_freeform,
        }
        schema = _choice_schema(options, several=allow_multiple, words=allow_freeform)
        answer = interrupt(value, response_schema=schema)
        return _result(runtime, _chosen(answer, options), answer=_plain(answer, options))

    def _may_ask(self, runtime: ToolRuntime) -> bool:
        """Whether a question is left; calls in one message are counted in order."""
        state = runtime.state
        asked: AskedQuestions | None = state.get("clarify")
        calls = asked["calls"] if asked and asked["run"] == state.get("run_id", "") else []
        message = next(m for m in reversed(state["messages"]) if isinstance(m, AIMessage))
        asking = [c["id"] for c in message.tool_calls if c["name"] in ("ask_user", "ask_choices")]
        return len(calls) + asking.index(runtime.tool_call_id) < self.max_questions


def _request(runtime: ToolRuntime, tool: str, question: str) -> dict[str, Any]:
    return {
        "type": "clarification_request",
        "tool": tool,
        "tool_call_id": runtime.tool_call_id,
        "question": question,
    }


def _result(runtime: ToolRuntime, text: str, *, answer: str | None = None) -> Command[Any]:
    """A tool result for the model, with the person's answer attached for clients."""
    result = ToolMessage(text, tool_call_id=runtime.tool_call_id)
    update: dict[str, Any] = {"messages": [result]}
    if answer is not None:
        result.additional_kwargs[ANSWER] = answer
        run = runtime.state.get("run_id", "")
        update["clarify"] = {"run": run, "calls": [runtime.tool_call_id]}
    return Command(update=update)


def _choice_schema(options: list[Option], *, several: bool, words: bool) -> type[BaseModel]:
    """The response schema: offered ids, as many as allowed."""
    offered = {option.id for option in options}

    def check(self: Any) -> Any:
        unknown = [choice for choice in self.selected if choice not in offered]
        freeform = getattr(self, "freeform", None)
        if unknown:
            message = f"not among the options: {', '.join(unknown)}"
        elif len(set(self.selected)) < len(self.selected):
            message = "an option was selected twice"
        elif not self.selected and not freeform:
            message = "choose an option" + (" or add your own answer" if words else "")
        else:
            return self
        raise ValueError(message)

    maximum = len(options) if several else 1
    offer: dict[str, Any] = {
        "items": {"type": "string", "enum": sorted(offered)},
        "uniqueItems": True,
    }
    fields: dict[str, Any] = {
        "selected": (list[str], Field(default=[], max_length=maximum, json_schema_extra=offer))
    }
    if words:
        fields["freeform"] = (str | None, Field(default=None, max_length=20_000))
    validators: dict[str, Any] = {"check": model_validator(mode="after")(check)}
    config = ConfigDict(
        extra="forbid", str_strip_whitespace=True, json_schema_extra=_require_answer(words=words)
    )
    return create_model("Choice", __config__=config, __validators__=validators, **fields)


def _require_answer(*, words: bool) -> dict[str, Any]:
    """JSON Schema that requires a choice, or free-form text if allowed."""
    choice = {"required": ["selected"], "properties": {"selected": {"minItems": 1}}}
    text = {"type": "string", "pattern": _NON_BLANK}
    own = {"required": ["freeform"], "properties": {"freeform": text}}
    return {"anyOf": [choice, own] if words else [choice]}


def _plain(answer: Any, options: list[Option]) -> str:
    labels = {option.id: option.label for option in options}
    words = getattr(answer, "freeform", None)
    chosen = ", ".join(labels[choice] for choice in answer.selected)
    return "\n".join(part for part in (chosen, words) if part)


def _chosen(answer: Any, options: list[Option]) -> str:
    labels = {option.id: option.label for option in options}
    lines = []
    if answer.selected:
        lines.append(CHOSE.format(choice=", ".join(labels[choice] for choice in answer.selected)))
    if getattr(answer, "freeform", None):
        lines.append(ADDED.format(words=answer.freeform))
    return "\n".join(lines)
