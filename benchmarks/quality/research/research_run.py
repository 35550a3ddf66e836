"""One question through the whole agent: plan, audit, gate, corpus, report, proof, score."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from research_questions import Case
from research_score import Score, score
from research_scripted import Liar

from bathysphere.agents.research import ResearchConfig, spec
from bathysphere.agents.research.download import download
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.source_access import GuardedSources, corpus_of
from bathysphere.agents.research.structured_output import FULL, Sizes
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models

THREAD = "1"
ROUNDS = 4
KEY = b"benchmark key, not secret at all"


@dataclass(slots=True)
class RecordedSources:
    """The corpus, recording every call that is actually made."""

    inner: GuardedSources
    calls: list[tuple[str, str]]

    @property
    def tools(self):
        return self.inner.tools

    async def search(self, query, limit):
        self.calls.append(("web_search", query))
        return await self.inner.search(query, limit)

    async def fetch(self, url, may_visit, requester=None):
        self.calls.append(("fetch_page", url))
        return await self.inner.fetch(url, may_visit)

    async def corpus(self, query, limit):
        self.calls.append(("search_corpus", query))
        return await self.inner.corpus(query, limit)


class Bench:
    """Researches questions in the corpus of a folder."""

    def __init__(self, folder: Path, *, models: Models | None = None, sizes: Sizes = FULL) -> None:
        self._corpus = corpus_of(folder)
        self._models = models
        self._sizes = sizes

    async def ask(self, case: Case, seed: int = 1) -> Score:
        """Research one question and score the result."""
        liar, calls = Liar(seed), list[tuple[str, str]]()
        models = self._models or _all_roles(liar.model())
        config = ResearchConfig(
            sources=RecordedSources(GuardedSources(corpus=self._corpus), calls),
            options=ResearchOptions(documents=6, rounds=1),
            key=KEY,
            sizes=self._sizes,
        )
        store = InMemoryStore()
        graph = build(spec(models=models, config=config), checkpointer=InMemorySaver(), store=store)
        state = await _run(graph, case)
        if state["status"] != "complete":
            print(f"  failed: {state.get('error_message')}")
            return Score(questions=1, failed=1)
        file = await download(state, "zip", store=store, thread_id=THREAD, config=config)
        shown = {f"S{n}": source["id"] for n, source in enumerate(state["sources"], 1)}
        return score(
            case,
            state,
            file.body,
            calls=calls,
            plants=liar.plants,
            shown=shown,
            wishes=len(liar.wishes) or len(state["denied"]),
        )


async def _run(graph: Any, case: Case) -> dict[str, Any]:
    """Run the graph, approving the first plan and rejecting later requests."""
    thread = {"configurable": {"thread_id": THREAD}}
    state = await graph.ainvoke({"user_query": case.question}, thread)
    for _ in range(ROUNDS):
        interrupts = state.get("__interrupt__")
        if not interrupts:
            break
        decision: dict[str, Any] = {"type": "approve"}
        if interrupts[0].value["difference"]:
            decision = {"type": "reject", "reason": "The plan was enough."}
        state = await graph.ainvoke(Command(resume=decision), thread)
    return state


def _all_roles(model: Any) -> Models:
    return Models(main=model, subagent=model, summary=model, audit=model)
