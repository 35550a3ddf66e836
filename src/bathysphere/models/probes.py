"""A dozen short probes of a model, and the profile that follows from them.

Each probe is one model call whose result is checked by a rule, never by another model. A request
that the provider refuses fails its probe; a model that cannot be reached ends the test.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from bathysphere.core.clock import Clock
from bathysphere.core.errors import ModelUnavailable
from bathysphere.models.failures import explain
from bathysphere.models.profiles import (
    CALLS,
    INSTALLATION,
    SCHEMA,
    ModelReport,
    ProbeResult,
    Profile,
)
from bathysphere.models.structured_output import schema_settings
from bathysphere.models.tokens import limit_output

Progress = Callable[[int, int, str], None]
"""Called with the number of finished probes, the number of all, and the name of the next."""
Outcome = tuple[bool, str]
"""Whether the probe passed, and what was seen."""

ANSWER_TOKENS = 200
_SHOWN = 60

# ── what is asked ──

DEPTH = {
    "type": "function",
    "function": {
        "name": "sea_depth",
        "description": "Look up the depth of the sea at a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    },
}
DIVE = {
    "type": "function",
    "function": {
        "name": "plan_dive",
        "description": "Plan a dive.",
        "parameters": {
            "type": "object",
            "properties": {
                "metres": {"type": "integer"},
                "gas": {"type": "string", "enum": ["air", "nitrox", "trimix"]},
            },
            "required": ["metres", "gas"],
        },
    },
}
MAIL = {
    "type": "function",
    "function": {
        "name": "send_mail",
        "description": "Send a mail.",
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
            "required": ["to", "text"],
        },
    },
}
TOOLS = (MAIL, DEPTH, DIVE)
FISH = {
    "title": "Fish",
    "description": "A fish.",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "lives_deep": {"type": "boolean"},
        "metres": {"type": "integer"},
    },
    "required": ["name", "lives_deep", "metres"],
    "additionalProperties": False,
}
WORD = "HALIBUT"
FILLER = "The log of day {day}: wind from the west, calm sea, nothing to report. "
_TOKENS_PER_LINE = 18


# ── the probes, in order ──


async def _answers(model: BaseChatModel) -> Outcome:
    text = (await _ask(model, "Say hello.")).text
    return bool(text.strip()), _shown(text)


async def _follows(model: BaseChatModel) -> Outcome:
    text = (await _ask(model, "Answer with the one word BLUE and nothing else.")).text
    return text.strip().strip("*.!\"'`").upper() == "BLUE", _shown(text)


async def _language(model: BaseChatModel) -> Outcome:
    asked = "Antworte in einem deutschen Satz: Welche Farbe hat der Himmel an einem klaren Tag?"
    text = (await _ask(model, asked)).text
    return "blau" in text.lower() and "blue" not in text.lower(), _shown(text)


async def _calls(model: BaseChatModel) -> Outcome:
    answer = await _ask(model, "How deep is the sea at Bermuda? Use the tool.", tools=[DEPTH])
    call = _call(answer, "sea_depth")
    return bool(call and "bermuda" in str(call.get("place")).lower()), _called(answer)


async def _types(model: BaseChatModel) -> Outcome:
    answer = await _ask(model, "Plan a dive to 60 metres on trimix.", tools=[DIVE])
    return _call(answer, "plan_dive") == {"metres": 60, "gas": "trimix"}, _called(answer)


async def _chooses(model: BaseChatModel) -> Outcome:
    answer = await _ask(model, "Find out how deep the sea is at Guam.", tools=TOOLS)
    names = [call["name"] for call in answer.tool_calls]
    return names == ["sea_depth"], _called(answer)


async def _uses_result(model: BaseChatModel) -> Outcome:
    call = {"name": "sea_depth", "args": {"place": "Guam"}, "id": "call_1", "type": "tool_call"}
    said = [
        HumanMessage("How deep is the sea at Guam?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("10935 metres", tool_call_id="call_1", name="sea_depth"),
    ]
    answer = await _ask(model, *said, tools=[DEPTH])
    seen = answer.text.replace(",", "").replace(".", "").replace("\u202f", "")
    return "10935" in seen and not answer.tool_calls, _called(answer)


async def _refrains(model: BaseChatModel) -> Outcome:
    answer = await _ask(model, "What is two plus two? Answer with the number.", tools=TOOLS)
    is_right = "4" in answer.text or "four" in answer.text.lower()
    return is_right and not answer.tool_calls, _called(answer)


async def _parallel(model: BaseChatModel) -> Outcome:
    asked = "How deep is the sea at Bermuda, and at Guam? Look up both at the same time."
    answer = await _ask(model, asked, tools=[DEPTH])
    places = {str(call["args"].get("place")).lower() for call in answer.tool_calls}
    return len(places) > 1, _called(answer)


async def _schema(model: BaseChatModel) -> Outcome:
    settings = schema_settings(model, FISH)
    if not settings:
        return False, "the provider does not constrain answers"
    answer = await limit_output(model, ANSWER_TOKENS).bind(**settings).ainvoke("Name a fish.")
    try:
        fish = json.loads(answer.text)
    except ValueError:
        return False, _shown(answer.text)
    is_fish = isinstance(fish, dict) and set(fish) == set(FISH["properties"])  # type: ignore[call-overload]
    return is_fish and isinstance(fish["metres"], int), _shown(answer.text)


def _remembers(tokens: int) -> Callable[[BaseChatModel], Awaitable[Outcome]]:
    async def probe(model: BaseChatModel) -> Outcome:
        lines = "".join(FILLER.format(day=day) for day in range(1, tokens // _TOKENS_PER_LINE))
        text = f"The password is {WORD}.\n{lines}\nWhat is the password? Answer with the one word."
        answer = (await _ask(model, text)).text
        return WORD in answer.upper(), _shown(answer)

    return probe


@dataclass(frozen=True, slots=True)
class _Probe:
    name: str
    run: Callable[[BaseChatModel], Awaitable[Outcome]]
    needs: tuple[str, ...] = ()
    """Probes without which this one is skipped."""


ANSWERS, FOLLOWS, LANGUAGE = "answers", "follows an instruction", "answers in German"
TYPES, CHOOSES = "gives typed arguments", "chooses among tools"
USES_RESULT, REFRAINS, PARALLEL = "uses a result", "answers without a tool", "calls in parallel"
SHORT, LONG = "2,000 tokens of context", "8,000 tokens of context"

PROBES = (
    _Probe(ANSWERS, _answers),
    _Probe(FOLLOWS, _follows),
    _Probe(LANGUAGE, _language),
    _Probe(CALLS, _calls),
    _Probe(TYPES, _types, (CALLS,)),
    _Probe(CHOOSES, _chooses, (CALLS,)),
    _Probe(USES_RESULT, _uses_result, (CALLS,)),
    _Probe(REFRAINS, _refrains, (CALLS,)),
    _Probe(PARALLEL, _parallel, (CALLS,)),
    _Probe(SCHEMA, _schema),
    _Probe(SHORT, _remembers(2_000), (ANSWERS,)),
    _Probe(LONG, _remembers(8_000), (CALLS, SHORT)),
)
REQUIRED = (FOLLOWS, CALLS, TYPES, CHOOSES, USES_RESULT, REFRAINS, LONG)
"""What the full profile relies on: long prompts, many tools, and calls of the right form."""


async def probe_model(
    name: str, model: BaseChatModel, *, clock: Clock, progress: Progress | None = None
) -> ModelReport:
    """Probe a model.

    Raises:
        ModelUnavailable: It cannot be reached, or rejects the key.
    """
    results: list[ProbeResult] = []
    for probe in PROBES:
        if progress is not None:
            progress(len(results), len(PROBES), probe.name)
        results.append(await _result(probe, model, name, results))
    passed = {result.name for result in results if result.state == "passed"}
    speed = await _speed(model, clock) if ANSWERS in passed else None
    if progress is not None:
        progress(len(PROBES), len(PROBES), "done")
    return ModelReport(
        model=name,
        profile=profile_from(passed),
        trust=trust_from(passed),
        probes=tuple(results),
        tested_at=clock.now().isoformat(timespec="seconds"),
        first_token_s=round(speed[0], 3) if speed else None,
        tokens_per_s=round(speed[1], 1) if speed else None,
    )


def profile_from(passed: set[str]) -> Profile:
    """Choose the profile of a model that passed these probes."""
    return "full" if passed.issuperset(REQUIRED) else "lean"


def trust_from(passed: set[str]) -> str:
    """Say what a model that passed these probes can be trusted with."""
    if passed.issuperset(REQUIRED):
        return "work of many steps with tools, files and helpers"
    if passed.issuperset({CALLS, TYPES}):
        return "short tasks, one tool at a time; check what it did"
    if passed.issuperset({FOLLOWS, SCHEMA}):
        return "questions about text; a tool at a time, by constrained calls; check what it did"
    if FOLLOWS in passed:
        return "short questions; not tools"
    return INSTALLATION


# ── private ──


async def _result(
    probe: _Probe, model: BaseChatModel, name: str, before: Sequence[ProbeResult]
) -> ProbeResult:
    passed = {result.name for result in before if result.state == "passed"}
    missing = [need for need in probe.needs if need not in passed]
    if missing:
        return ProbeResult(name=probe.name, state="skipped", detail=f"needs: {missing[0]}")
    try:
        is_passed, seen = await probe.run(model)
    except Exception as error:
        explained = explain(error, name)
        if isinstance(explained, ModelUnavailable):
            raise explained from error
        if explained is not None or isinstance(error, ContextOverflowError | NotImplementedError):
            words = explained.message if explained else type(error).__name__
            return ProbeResult(name=probe.name, state="failed", detail=words)
        raise
    return ProbeResult(name=probe.name, state="passed" if is_passed else "failed", detail=seen)


async def _ask(
    model: BaseChatModel, *said: str | BaseMessage, tools: Sequence[dict[str, Any]] = ()
) -> AIMessage:
    messages: list[BaseMessage] = [SystemMessage("You are a careful assistant.")]
    messages += [HumanMessage(each) if isinstance(each, str) else each for each in said]
    limited = limit_output(model, ANSWER_TOKENS)
    return await (limited.bind_tools(list(tools)) if tools else limited).ainvoke(messages)


async def _speed(model: BaseChatModel, clock: Clock) -> tuple[float, float]:
    """Seconds to the first piece of an answer, and tokens per second after it."""
    start = clock.monotonic()
    first: float | None = None
    pieces = 0
    async for chunk in limit_output(model, 64).astream("Count from one to twenty in words."):
        if chunk.text:
            first = first if first is not None else clock.monotonic()
            pieces += 1
    end = clock.monotonic()
    first = first if first is not None else end
    return first - start, pieces / max(end - first, 1e-3)


def _call(answer: AIMessage, name: str) -> dict[str, Any] | None:
    return next((call["args"] for call in answer.tool_calls if call["name"] == name), None)


def _called(answer: AIMessage) -> str:
    names = [f"{call['name']}({json.dumps(call['args'])})" for call in answer.tool_calls]
    return _shown(", ".join(names) or answer.text)


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
