"""The whole research flow on a small real model, offline: valid JSON at each node, and a proof.

What it writes is not judged.
"""

import json

import pytest
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from bathysphere.agents.research import ResearchConfig, spec
from bathysphere.agents.research.download import download
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.structured_output import Sizes
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models
from bathysphere.testing import SmallModel

pytestmark = [pytest.mark.small_model, pytest.mark.timeout(600)]

TINY = Sizes(
    steps=1,
    claims=1,
    quotes=1,
    sides=2,
    contradictions=0,
    requests=1,
    text=48,
    sources=1,
    excerpt=300,
    shown=300,
    repeats_schema=False,
)
"""As little as there can be: the model is slow, and what it writes does not matter."""


@pytest.fixture(scope="module")
def running():
    with SmallModel() as model:
        yield model


class Recorded(ChatOpenAI):
    """The small model, with every answer kept."""

    answers: list = []  # noqa: RUF012  # pydantic copies it

    async def _agenerate(self, *args, **kwargs):
        result = await super()._agenerate(*args, **kwargs)
        self.answers.append((kwargs, result.generations[0].message.text))
        return result


def client(running):
    return Recorded(
        model=running.name,
        base_url=running.base_url,
        api_key="none",
        temperature=0,
        max_retries=0,
        timeout=300,
        answers=[],
        default_headers={"Connection": "close"},  # LangChain keeps its clients open for ever
    )


def config(**more):
    return ResearchConfig(key=b"k" * 32, sizes=TINY, repairs=0, retries=0, **more)


@pytest.mark.long("tests/integration/test_small_model.py::test_it_keeps_to_a_json_schema")
async def test_the_whole_flow_ends_with_valid_json_at_each_node(running):
    model = client(running)
    models = Models(main=model, subagent=model, summary=model, audit=model)
    store, chosen = InMemoryStore(), config(options=ResearchOptions(rounds=1, documents=1))
    graph = build(spec(models=models, config=chosen), checkpointer=InMemorySaver(), store=store)
    thread = {"configurable": {"thread_id": "1"}}
    state = await graph.ainvoke({"user_query": "How deep did the bathysphere dive?"}, thread)
    for _ in range(3):
        if not (asked := state.get("__interrupt__")):
            break
        word = {"type": "approve"}
        if asked[0].value["difference"]:
            word = {"type": "reject", "reason": "The plan was enough."}
        state = await graph.ainvoke(Command(resume=word), thread)
    # None was put right, for no repair is allowed: each answer was one JSON object of its form.
    assert len(model.answers) >= 3
    assert all(isinstance(json.loads(text), dict) for _, text in model.answers)
    # So small a model may support no claim: then the run says so, and has no proof to hand out.
    if state["status"] == "complete":
        proof = await download(state, "zip", store=store, thread_id="1", config=chosen)
        assert verify_proof(proof.body).ok
    else:
        assert "do not answer this question" in state["error_message"]
