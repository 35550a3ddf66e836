"""What the first prompt of an agent costs: its words and the schemas of its tools, in tokens.

The agent is run once with a model that records what it is sent and answers with one word, so the
figures are those of the real prompt, with all that layers add to it. Nothing else is called.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from bathysphere.harness.build import Graph, build
from bathysphere.harness.spec import AgentSpec, GraphSpec, Spec, SubagentSpec
from bathysphere.harness.stack import layer_name, main_agent

Count = Callable[[str], int]
"""Counts the tokens of a text."""

PROMPT = "prompt"
SUBAGENTS = "subagents"
OWN_TOOLS = "its tools"
_CHARACTERS_PER_TOKEN = 4


def estimate(text: str) -> int:
    """Estimate the tokens of a text: one for four characters, as English and JSON have."""
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstPrompt:
    """A system prompt with the tools that are offered beside it, in OpenAI's wire format."""

    system: str
    tools: tuple[dict[str, Any], ...] = ()

    def tokens(self, count: Count = estimate) -> int:
        """Count the tokens of all of it."""
        return count(self.system) + sum(count(json.dumps(tool)) for tool in self.tools)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptCost:
    """The cost of one section of the prompt, or of one tool."""

    source: str
    """The layer that it comes from, or `prompt`."""
    part: str
    tokens: int


async def first_prompt(spec: AgentSpec) -> FirstPrompt:
    """Record the first prompt of an agent's main model."""
    return await recorded_prompt(lambda model: build(_with_model(spec, model)))


async def recorded_prompt(build_graph: Callable[[BaseChatModel], Graph]) -> FirstPrompt:
    """Record the first prompt of a graph with all its tools; before it, a move may be chosen."""
    model = _RecordingModel()
    await build_graph(model).ainvoke({"messages": [("user", "Hello")]})
    return max(model.prompts, key=lambda prompt: len(prompt.tools))  # the first of those


def node_prompts(spec: GraphSpec) -> dict[str, FirstPrompt]:
    """The prompt of each node of a graph, with the schema of its answers."""
    texts = dict(_sections(spec.prompt, "# "))
    return {
        node: FirstPrompt(system=texts.get(node, ""), tools=(schema,))
        for node, schema in spec.answers.items()
    }


async def prompt_costs(spec: Spec, count: Count = estimate) -> list[PromptCost]:
    """List what each part of the first prompt costs, the most expensive first."""
    if isinstance(spec, GraphSpec):
        costs = [
            PromptCost(source=PROMPT, part=node, tokens=prompt.tokens(count))
            for node, prompt in node_prompts(spec).items()
        ]
    else:
        costs = list(_costs(spec, await first_prompt(spec), count))
    return sorted(costs, key=lambda cost: (-cost.tokens, cost.part))


def _costs(spec: AgentSpec, prompt: FirstPrompt, count: Count) -> Iterator[PromptCost]:
    for title, text in _sections(prompt.system, "## "):
        source = PROMPT if text.strip() in spec.prompt else "layers"
        yield PromptCost(source=source, part=title or "beginning", tokens=count(text))
    agent = main_agent(spec)
    owners = {
        tool.name: layer_name(layer)
        for layer in agent.stack.layers
        for tool in getattr(layer, "tools", ())
    }
    for tool in prompt.tools:
        name = tool["function"]["name"]
        source = SUBAGENTS if name == "task" else owners.get(name, OWN_TOOLS)
        yield PromptCost(source=source, part=name, tokens=count(json.dumps(tool)))


def _sections(text: str, mark: str) -> list[tuple[str, str]]:
    """Split a text at its headings: pairs of title and text, which begins with the heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines(keepends=True):
        if line.startswith(mark):
            found.append((line.removeprefix(mark).strip(), []))
        found[-1][1].append(line)
    return [(title, "".join(lines)) for title, lines in found if "".join(lines).strip()]


# ── the model that records ──


@dataclass(slots=True)
class _Record:
    prompts: list[FirstPrompt] = field(default_factory=list)


class _RecordingModel(BaseChatModel):
    """Answers every prompt with one word, and keeps the prompts."""

    bound: tuple[dict[str, Any], ...] = ()
    _record: _Record = PrivateAttr(default_factory=_Record)

    @property
    def prompts(self) -> list[FirstPrompt]:
        """The prompts in order."""
        return self._record.prompts

    @property
    def _llm_type(self) -> str:
        return "recording"

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> "_RecordingModel":
        del settings
        # A copy shares private attributes, so all copies write to one record.
        return self.model_copy(update={"bound": tuple(map(convert_to_openai_tool, tools))})

    def _generate(self, messages: list[BaseMessage], *args: Any, **settings: Any) -> ChatResult:
        del args, settings
        system = messages[0].text if messages and messages[0].type == "system" else ""
        self._record.prompts.append(FirstPrompt(system=system, tools=self.bound))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Hello."))])


def _with_model(spec: AgentSpec, model: BaseChatModel) -> AgentSpec:
    subagents = tuple(
        replace(sub, model=model) if isinstance(sub, SubagentSpec) else sub
        for sub in spec.subagents
    )
    return replace(
        spec, model=model, subagent_model=model, summary_model=model, subagents=subagents
    )
