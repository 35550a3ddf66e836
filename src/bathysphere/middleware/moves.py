"""Moves: each turn, the tutor picks a move and words it, and the wording is checked.

After the person's message, the model is asked for a move only: a short prompt, no tools, and an
answer constrained to a JSON schema if the provider supports that. The choice becomes a call of the
tool `choose_move`, which applies the hint ladder and stores it; an unreadable answer is replaced by
the move that the rules suggest. The next model call words the move. Wording that does not match the
move is withdrawn and requested once more.

Each of these is an ordinary step of the agent: counted by Limits, retried and stored.

Order: among the agent's own layers, outside the layers that retry. State: `moves`,
`open_questions`, `carried_questions`; it reads `argument_map`.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel, Field, ValidationError

from bathysphere.argument.checks import check
from bathysphere.argument.export import outline
from bathysphere.argument.ladder import (
    RUNGS,
    By,
    Choice,
    Played,
    hints_in_a_row,
    instruction,
    open_questions,
    settle,
    suggest,
)
from bathysphere.argument.map import merge
from bathysphere.argument.moves import FORMS, Move, last_question_in, misfits
from bathysphere.core.errors import RequestRefused
from bathysphere.core.writers import ByClient, ByEngine
from bathysphere.flow import flow
from bathysphere.models.declared_tool import DeclaredTool
from bathysphere.models.endings import ended_by
from bathysphere.models.json_text import extract_json
from bathysphere.models.structured_output import schema_settings, without_stream
from bathysphere.models.text_calls import unwrapped

# ── text for the model ──

CHOOSE = """You plan the next turn of a Socratic tutor. Pick one move; do not word it.

Moves:
{moves}

Rules: ask rather than tell. `hint` when the person is stuck. `tell` only when they ask to be told
or stay stuck after {rungs} hints. `work` only when they ask for work on files, or for a seminar.
Set `stuck` if they cannot go on, `asked_to_tell` if they ask for the answer itself.
{situation}
Answer with JSON alone: {{"move": "...", "why": "one sentence", "node": "id on the map or empty",
"stuck": false, "asked_to_tell": false, "takes_up": 0}}"""
SUGGESTED = "The rules suggest `{move}`: {why}."
LEFT_OPEN = "Left open last time; `takes_up` is the number of the one that you take up:\n{rows}"
AGAIN = """## Word it again
Your last wording does not have the form of the move `{move}`: {misfits}. It was:
{draft}
Give the whole turn again, mended, and say nothing of this."""
ONE_MOVE = "A move is chosen already. Word it."

TOOL = "choose_move"
QUESTION_TOOLS = ("ask_user", "ask_choices")
"""Tools that ask the person; an answer starts a new turn."""
REFUSALS = (RequestRefused, NotImplementedError)
"""Errors of models that do not support a schema; then the rules choose."""
CONTEXT_MESSAGES = 12
"""Number of recent messages shown for the choice."""

# ── state ──


def join_moves(left: list[Played] | None, right: list[Played] | None) -> list[Played]:
    """Reducer: moves in order; a later move of the same turn wins; invalid ones are dropped."""
    known = [move for moves in (left, right) if isinstance(moves, list) for move in moves]
    return list({move["turn"]: move for move in known if _is_move(move)}.values())


def _is_move(value: Any) -> bool:
    """Whether a value is a valid move, since clients may write invalid state."""
    needed = Played.__required_keys__
    if not isinstance(value, dict) or not needed <= value.keys() or value["move"] not in FORMS:
        return False
    return all(isinstance(value[name], str) for name in ("turn", "node", "why"))


class MovesState(AgentState[Any]):
    """State of the Moves layer; the client may set `open_questions`."""

    moves: NotRequired[Annotated[ByEngine[list[Played]], join_moves]]
    open_questions: NotRequired[ByClient[list[str]]]
    carried_questions: NotRequired[ByEngine[list[str]]]


class Picked(BaseModel):
    """The next move."""

    move: Move
    why: str = Field(default="", max_length=300)
    node: str = Field(default="", max_length=40)
    stuck: bool = False
    asked_to_tell: bool = False
    takes_up: int = Field(default=0, ge=0, le=100)


class _Call(Picked):
    by: Literal["model", "rule"] = "model"


# ── middleware ──


class MovesMiddleware(AgentMiddleware[MovesState, Any, Any]):
    """Picks a move for each turn and checks its wording."""

    state_schema = MovesState

    def __init__(self, *, questions_a_turn: int = 1) -> None:
        super().__init__()
        self.questions_a_turn = questions_a_turn
        self.tools = [
            DeclaredTool.from_function(
                _choose_move,
                name=TOOL,
                description="Keep the move of this turn.",
                args_schema=_Call,
                infer_schema=False,
                flow=flow(reads="trusted"),
            )
        ]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Ask for a move, or for the wording of the chosen one."""
        turn = _turn_of(request.state)
        if not turn.needs_move:
            return handler(_wording(request, turn.move))
        try:
            response = handler(_choosing(request, turn))
        except REFUSALS:
            response = ModelResponse(result=[])
        return _as_call(response, request, turn)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """Ask for a move, or for the wording of the chosen one."""
        turn = _turn_of(request.state)
        if not turn.needs_move:
            return await handler(_wording(request, turn.move))
        try:
            response = await handler(_choosing(request, turn))
        except REFUSALS:
            response = ModelResponse(result=[])
        return _as_call(response, request, turn)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: MovesState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check the wording; withdraw one that does not match, once."""
        del runtime
        move, last = _turn_of(state).move, state["messages"][-1]
        if move is None or "fits" in move or not isinstance(last, AIMessage):
            return None
        if ended_by(last):
            return None  # the run is over: not written by the model
        asked = [call for call in last.tool_calls if call["name"] in QUESTION_TOOLS]
        if last.tool_calls and not asked:
            return None
        text = " ".join(str(call["args"].get("question", "")) for call in asked) or last.text
        why = misfits(move["move"], text, questions_a_turn=self.questions_a_turn)
        if why and not asked and "misfits" not in move:
            drafted: Played = {**move, "misfits": why, "draft": text}
            removal = RemoveMessage(id=str(last.id))
            return {"moves": [drafted], "messages": [removal], "jump_to": "model"}
        return _finished(state, move, text, fits=not why, message=str(last.id))


def _choose_move(
    runtime: ToolRuntime,
    move: Move,
    why: str = "",
    node: str = "",
    takes_up: int = 0,
    *,
    stuck: bool = False,
    asked_to_tell: bool = False,
    by: By = "model",
) -> Command[Any]:
    turn = _turn_of(runtime.state)
    if turn.move is not None:
        return _result(runtime, ONE_MOVE, status="error")
    known = merge(runtime.state.get("argument_map"), None)
    choice = Choice(
        move=move,
        why=why,
        node=node if node in known["nodes"] else "",
        stuck=stuck,
        asked_to_tell=asked_to_tell,
        takes_up=dict(enumerate(_carried(runtime.state), 1)).get(takes_up, ""),
    )
    played = settle(choice, turn.played, turn=turn.id, said=turn.said, by=by)
    return _result(runtime, instruction(played), moves=[played])


# ── the turn ──


class _Turn(NamedTuple):
    """The person's last message, and the move chosen for it, if any."""

    id: str
    said: str
    played: list[Played]
    move: Played | None
    asked: bool
    """Whether a move was already requested; a failed choice is not repeated."""

    @property
    def needs_move(self) -> bool:
        return self.move is None and not self.asked


def _turn_of(state: Any) -> _Turn:
    messages: list[AnyMessage] = state["messages"]
    called = {c["id"]: c["name"] for m in messages for c in getattr(m, "tool_calls", ())}
    turn_id, said = "", ""
    for message in messages:
        if isinstance(message, HumanMessage):
            turn_id, said = str(message.id), message.text
        elif (
            isinstance(message, ToolMessage) and called.get(message.tool_call_id) in QUESTION_TOOLS
        ):
            turn_id, said = message.tool_call_id, message.text
    played: list[Played] = state.get("moves") or []
    move = next((m for m in played if m["turn"] == turn_id), None)
    asked = f"{TOOL}-{turn_id}" in called
    return _Turn(turn_id, said, [m for m in played if m is not move], move, asked)


def _finished(
    state: MovesState, move: Played, text: str, *, fits: bool, message: str
) -> dict[str, Any]:
    worded: Played = {**move, "fits": fits, "message": message}
    worded.pop("draft", None)
    if question := last_question_in(text):
        worded["question"] = question
    known = merge(state.get("argument_map"), None)  # type: ignore[arg-type]
    moves, carried = join_moves(state.get("moves"), [worded]), _carried(state)
    return {
        "moves": [worded],
        "carried_questions": carried,
        "open_questions": open_questions(known, moves, carried),
    }


def _carried(state: Any) -> list[str]:
    """Open questions of an earlier conversation, set by the client before the first move."""
    given = state.get("carried_questions", state.get("open_questions"))
    return [str(question) for question in given][:20] if isinstance(given, list) else []


# ── model calls ──


def _choosing(request: ModelRequest[Any], turn: _Turn) -> ModelRequest[Any]:
    moves = "\n".join(f"- `{move}`: {form.purpose}" for move, form in FORMS.items())
    situation = _situation(request.state, turn)
    prompt = CHOOSE.format(moves=moves, rungs=len(RUNGS), situation=situation)
    schema = schema_settings(request.model, Picked.model_json_schema())
    settings = {**request.model_settings, **schema}
    return request.override(
        model=without_stream(request.model),
        system_message=SystemMessage(prompt),
        messages=[HumanMessage(_transcript(request.state))],
        tools=[],
        tool_choice=None,
        response_format=None,
        model_settings=settings,
    )


def _situation(state: Any, turn: _Turn) -> str:
    known = merge(state.get("argument_map"), None)
    suggestion = suggest(known, turn.played, said=turn.said)
    parts = [SUGGESTED.format(move=suggestion.move, why=suggestion.why.rstrip("."))]
    if known["nodes"]:
        rows = [f"- {finding['says']} → `{finding['move']}`" for finding in check(known)]
        parts.append("\n".join(["Map:", outline(known), *rows]))
    if hints := hints_in_a_row(turn.played):
        parts.append(f"Hints given in a row: {hints}.")
    if carried := _carried(state):
        rows = [f"{number}. {question}" for number, question in enumerate(carried, 1)]
        parts.append(LEFT_OPEN.format(rows="\n".join(rows)))
    return "\n".join(parts)


def _transcript(state: Any) -> str:
    """The recent conversation as plain text, without tool results."""
    turn = _turn_of(state)
    who = {"human": "Person", "ai": "Tutor"}
    said = [(who[m.type], m.text) for m in state["messages"] if m.type in who and m.text.strip()]
    if not said or said[-1] != ("Person", turn.said):
        said.append(("Person", turn.said))
    return "\n\n".join(f"{name}: {text[:2_000]}" for name, text in said[-CONTEXT_MESSAGES:])


def _wording(request: ModelRequest[Any], move: Played | None) -> ModelRequest[Any]:
    tools = [tool for tool in request.tools if getattr(tool, "name", None) != TOOL]
    request = request.override(tools=tools)
    if move is None or "draft" not in move:
        return request
    again = AGAIN.format(move=move["move"], misfits="; ".join(move["misfits"]), draft=move["draft"])
    prompt = request.system_message.text if request.system_message else ""
    return request.override(system_message=SystemMessage(f"{prompt}\n\n{again}".strip()))


def _as_call(response: ModelResponse[Any], request: ModelRequest[Any], turn: _Turn) -> AIMessage:
    """The choice as a call of `choose_move`; the suggested move if it is unreadable."""
    answer = next((m for m in response.result if isinstance(m, AIMessage)), AIMessage(""))
    if ended_by(answer):
        return answer
    picked = _read(answer)
    if picked is None:
        known = merge(request.state.get("argument_map"), None)  # type: ignore[arg-type]
        choice = suggest(known, turn.played, said=turn.said)
        args: dict[str, Any] = {"move": choice.move, "why": choice.why, "node": choice.node}
        args |= {"stuck": choice.stuck, "asked_to_tell": choice.asked_to_tell, "by": "rule"}
    else:
        args = picked.model_dump(exclude_defaults=True)
    return AIMessage(
        content="",
        id=answer.id,
        tool_calls=[{"name": TOOL, "args": args, "id": f"{TOOL}-{turn.id}", "type": "tool_call"}],
        usage_metadata=answer.usage_metadata,
        response_metadata=answer.response_metadata,
    )


def _read(answer: AIMessage) -> Picked | None:
    """Parse the choice from an answer: JSON text, possibly within prose, or a tool call."""
    for call in answer.tool_calls:
        if call["name"] in (Picked.__name__, TOOL):
            return _valid(call["args"])
    try:
        return _valid(unwrapped(extract_json(answer.text)))
    except ValueError:
        return None


def _valid(data: Any) -> Picked | None:
    try:
        return Picked.model_validate(data)
    except ValidationError:
        return None


def _result(
    runtime: ToolRuntime,
    text: str,
    *,
    status: Literal["success", "error"] = "success",
    **state: Any,
) -> Command[Any]:
    message = ToolMessage(text, tool_call_id=runtime.tool_call_id, name=TOOL, status=status)
    return Command(update={"messages": [message], **state})
