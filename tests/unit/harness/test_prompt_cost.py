"""What the first prompt of an agent costs."""

from langchain_core.tools import tool

from bathysphere.agents import load
from bathysphere.harness.prompt_cost import estimate, first_prompt, node_prompts, prompt_costs
from bathysphere.harness.spec import AgentSpec, GraphSpec
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel


@tool
def depth(place: str) -> str:
    """Look up the depth of the sea at a place."""
    return place


def spec_of(name):
    model = ScriptedChatModel()
    return load(name).spec(models=Models(main=model, subagent=model, summary=model, audit=model))


def own_spec(prompt="You dive.", **more):
    return AgentSpec(name="diver", model=ScriptedChatModel(), prompt=prompt, **more)


async def test_the_first_prompt_is_what_the_model_is_sent_and_no_real_model_is_called():
    spec = own_spec(tools=(depth,))
    prompt = await first_prompt(spec)
    assert prompt.system.startswith("You dive.")
    names = [each["function"]["name"] for each in prompt.tools]
    assert {"depth", "task", "read_file"} <= set(names)
    assert spec.model.requests == []


async def test_the_tutors_first_prompt_is_that_of_its_wording_not_of_its_move():
    prompt = await first_prompt(spec_of("tutor"))
    assert prompt.system.startswith("You are a Socratic tutor.")
    assert "Word it again" not in prompt.system
    assert "propose_node" in [each["function"]["name"] for each in prompt.tools]


async def test_the_parts_are_sorted_named_by_their_source_and_add_up_to_the_whole():
    spec = own_spec("You dive.\n\n## Air\nWatch it.", tools=(depth,))
    costs = await prompt_costs(spec)
    tokens = [cost.tokens for cost in costs]
    assert tokens == sorted(tokens, reverse=True)
    sources = {cost.part: cost.source for cost in costs}
    assert sources["Air"] == sources["beginning"] == "prompt"
    assert sources["depth"] == "its tools"
    assert sources["read_file"] == "FilesMiddleware"
    assert sources["task"] == "subagents"
    whole = (await first_prompt(spec)).tokens()
    assert abs(sum(tokens) - whole) <= len(costs)  # each part is rounded up


async def test_another_tokenizer_can_count():
    costs = await prompt_costs(own_spec(), lambda text: len(text))
    by_part = {cost.part: cost.tokens for cost in costs}
    assert by_part["beginning"] >= len("You dive.")
    assert estimate("You dive.") == 3


async def test_a_graph_is_counted_by_its_nodes_with_the_schemas_of_their_answers():
    spec = spec_of("research")
    assert isinstance(spec, GraphSpec)
    prompts = node_prompts(spec)
    assert prompts.keys() == spec.answers.keys()
    assert "You write the findings." in prompts["synthesizer"].system
    assert "claims" in str(prompts["synthesizer"].tools)
    largest, *_ = await prompt_costs(spec)
    assert largest.part == "synthesizer"
