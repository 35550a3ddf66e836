"""Every agent that ships keeps to a budget of tokens for its first prompt.

Each model call pays for it again. Whoever goes over a budget shortens something else, or raises the
figure here with a reason. `bathysphere agents NAME --tokens` shows where the tokens go.
"""

import pytest

from bathysphere.agents import AGENTS, load
from bathysphere.harness.prompt_cost import first_prompt, node_prompts, prompt_costs
from bathysphere.harness.spec import GraphSpec
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel

BUDGETS = {
    ("simple", "full"): 2_150,
    ("simple", "lean"): 1_300,
    ("tutor", "full"): 3_200,
    ("tutor", "lean"): 1_620,
    ("workspace", "full"): 600,
    ("workspace", "lean"): 480,
    ("research", "full"): 560,
    ("research", "lean"): 560,
}
"""Estimated tokens, at four characters each: about a tenth less than SmolLM2's tokenizer counts."""


def spec_of(name, profile):
    model = ScriptedChatModel()
    models = Models(main=model, subagent=model, summary=model, audit=model, profile=profile)
    return load(name).spec(models=models)


async def tokens_of(name, profile):
    spec = spec_of(name, profile)
    if isinstance(spec, GraphSpec):
        return max(prompt.tokens() for prompt in node_prompts(spec).values())
    return (await first_prompt(spec)).tokens()


def test_every_agent_that_ships_has_a_budget():
    assert {name for name, _ in BUDGETS} == set(AGENTS)


@pytest.mark.parametrize(("name", "profile"), BUDGETS)
async def test_the_first_prompt_keeps_to_its_budget(name, profile):
    budget = BUDGETS[name, profile]
    tokens = await tokens_of(name, profile)
    costs = [f"{c.tokens:>5} {c.part}" for c in await prompt_costs(spec_of(name, profile))]
    assert tokens <= budget, "\n".join([f"{tokens} tokens, the budget is {budget}", *costs])
    assert tokens > 0.9 * budget, f"{tokens} tokens: lower the budget of {budget}"
