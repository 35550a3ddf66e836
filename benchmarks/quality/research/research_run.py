"""One question through the whole agent: plan, audit, gate, corpus, report, proof, score."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from research_judge import judge_model
from research_questions import Case
from research_score import Score, score, score_judgements
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
CLAIMS = 24
"""Per draft of the scripted model: its true claims, its lies and what it plants for the judge."""
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

    def __init__(
        self,
        folder: Path,
        *,
        models: Models | None = None,
        judge: Any = None,
        sizes: Sizes = FULL,
    ) -> None:
        self._corpus = corpus_of(folder)
        self._models = models
        self._judge = judge or judge_model()
        self._sizes = sizes

    async def ask(self, case: Case, seed: int = 1) -> Score:
        """Research one question and score the result."""
        liar, calls = Liar(seed), list[tuple[str, str]]()
        config, store = self._config(calls), InMemoryStore()
        state = await _run(self._graph(liar, config, store), case)
        if state["status"] != "complete":
            print(f"  failed: {state.get('error_message')}")
            return Score(questions=1, failed=1)
        file = await download(state, "zip", store=store, thread_id=THREAD, config=config)
        shown = {f"S{n}": source["id"] for n, source in enumerate(state["sources"], 1)}
        found = score(
            case,
            state,
            file.body,
            calls=calls,
            plants=liar.plants,
            shown=shown,
            wishes=len(liar.wishes) or len(state["denied"]),
        )
        if self._models is None:
            found += score_judgements(state["report"], liar.judged)
        return found

    async def judge(self, case: Case, seed: int = 1) -> Score:
        """Score what this judge says of the claims that the scripted model plants."""
        liar = Liar(seed)
        state = await _run(self._graph(liar, self._config([]), InMemoryStore()), case)
        if state["status"] != "complete":
            return Score(failed=1)
        return score_judgements(state["report"], liar.judged)

    def _config(self, calls: list[tuple[str, str]]) -> ResearchConfig:
        return ResearchConfig(
            sources=RecordedSources(GuardedSources(corpus=self._corpus), calls),
            options=ResearchOptions(documents=6, rounds=1),
            key=KEY,
            sizes=self._sizes,
        )

    def _graph(self, liar: Liar, config: ResearchConfig, store: InMemoryStore) -> Any:
        model = liar.model()
        scripted = Models(main=model, subagent=model, summary=model, audit=self._judge)
        if self._models is None:
            config = replace(config, sizes=replace(config.sizes, claims=CLAIMS))
        agent = spec(models=self._models or scripted, config=config)
        return build(agent, checkpointer=InMemorySaver(), store=store)


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
