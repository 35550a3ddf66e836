"""Suites as tasks of `inspect_ai`: its datasets, logs, resumption and viewer around our cases.

The solver plays a case and judges its state. Tokens reach Inspect through a model of its own that
reports what the case used, so that its viewer shows them; it never calls anything.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from bathysphere.evaluation.cases import Suite, case_named, suite
from bathysphere.evaluation.checks import failed_checks
from bathysphere.evaluation.figures import FAILED, FIGURES, SCORE, figures_of
from bathysphere.evaluation.play import CaseResult, play_case
from bathysphere.evaluation.subjects import Candidate, Harness
from bathysphere.models.prices import Price

PROVIDER = "bathysphere"

_played: ContextVar[CaseResult] = ContextVar("bathysphere_played_case")


def task_of(
    name: Suite,
    harness: Harness,
    candidate: Candidate,
    *,
    limit: int | None = None,
    price: Price | None = None,
) -> Task:
    """A suite as a task for a model in a harness."""
    cases = suite(name)[:limit]
    samples = [Sample(id=case.name, input="\n\n".join(case.say)) for case in cases]
    return Task(
        name=name if harness == PROVIDER else f"{name}-{harness}",
        dataset=MemoryDataset(samples, name=name),
        solver=_solver(name, harness, candidate, price),
        scorer=_scorer(),
        metadata={"suite": name, "harness": harness, **candidate.facts},
    )


def _solver(name: Suite, harness: Harness, candidate: Candidate, price: Price | None) -> Solver:
    @solver(name="play_case")
    def play() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            del generate  # the agent calls its model
            case = case_named(name, str(state.sample_id))
            result = await play_case(case, candidate, harness=harness, run=state.epoch)
            state.store.set(FAILED, failed_checks(case, result))
            state.store.set(FIGURES, figures_of(result, price))
            state.messages = transcript(result.messages) or state.messages
            _played.set(result)
            state.output = await get_model().generate(state.messages[:1])
            return state

        return solve

    return play()


def _scorer() -> Scorer:
    @scorer(name=SCORE, metrics=[accuracy(), stderr()])
    def checked() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            del target  # a case has checks instead
            failed: list[str] = state.store.get(FAILED) or []
            return Score(
                value=INCORRECT if failed else CORRECT,
                explanation="\n".join(failed) or "Every check of the final state holds.",
                metadata={FAILED: failed, **(state.store.get(FIGURES) or {})},
            )

        return score

    return checked()


@modelapi(PROVIDER)
class PlayedModel(ModelAPI):
    """Reports the answer and the usage of the case that was just played."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The last message of the case, with the tokens of all its model calls."""
        del input, tools, tool_choice, config
        result = _played.get()
        last = result.messages[-1].text if result.messages else ""
        output = ModelOutput.from_content(self.model_name, last)
        output.usage = ModelUsage(
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            total_tokens=result.input_tokens + result.output_tokens,
        )
        return output


# ── the conversation, for the viewer ──


def transcript(messages: Sequence[BaseMessage]) -> list[ChatMessage]:
    """The conversation in Inspect's form."""
    return [_message(message) for message in messages]


def _message(message: BaseMessage) -> ChatMessage:
    if isinstance(message, AIMessage):
        calls = [
            ToolCall(id=str(call["id"]), function=call["name"], arguments=_args(call["args"]))
            for call in message.tool_calls
        ]
        return ChatMessageAssistant(content=message.text, tool_calls=calls or None)
    if isinstance(message, ToolMessage):
        return ChatMessageTool(
            content=message.text, tool_call_id=message.tool_call_id, function=message.name
        )
    if isinstance(message, HumanMessage):
        return ChatMessageUser(content=message.text)
    return ChatMessageSystem(content=message.text)


def _args(args: Any) -> dict[str, Any]:
    return args if isinstance(args, dict) else {"value": args}
