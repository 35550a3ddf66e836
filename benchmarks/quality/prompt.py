"""Tokens of the first prompt, system prompt and tools together, of each agent that ships.

Beside it bare `create_deep_agent` of the installed deepagents, counted in the same run by the same
tokenizer: that of SmolLM2, asked of llama.cpp. Tools are counted as OpenAI's wire format has them.
`research_max` is the largest prompt among the nodes of research. Last line: JSON.
"""

import asyncio
import json

import httpx
from deepagents import create_deep_agent

from bathysphere.agents import load
from bathysphere.harness.prompt_cost import Count, first_prompt, node_prompts, recorded_prompt
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, SmallModel

AGENTS = ("simple", "simple_lean", "tutor", "tutor_lean", "workspace")


def spec_of(name: str):
    agent, _, profile = name.partition("_")
    model = ScriptedChatModel()
    models = Models(
        main=model, subagent=model, summary=model, audit=model, profile=profile or "full"
    )
    return load(agent).spec(models=models)


async def measure(count: Count) -> dict[str, int]:
    found = {"deepagents": (await recorded_prompt(create_deep_agent)).tokens(count)}
    for name in AGENTS:
        found[name] = (await first_prompt(spec_of(name))).tokens(count)
    nodes = node_prompts(spec_of("research")).values()
    return {**found, "research_max": max(prompt.tokens(count) for prompt in nodes)}


def tokenizer(server: SmallModel, client: httpx.Client) -> Count:
    def count(text: str) -> int:
        response = client.post(f"{server.url}/tokenize", json={"content": text})
        return len(response.raise_for_status().json()["tokens"])

    return count


def main() -> None:
    with SmallModel() as server, httpx.Client(trust_env=False) as client:
        found = asyncio.run(measure(tokenizer(server, client)))
    for name, tokens in found.items():
        print(f"{name:<14}{tokens:>6}   {tokens / found['deepagents']:.2f} x deepagents")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
