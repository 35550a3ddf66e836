"""A research graph with models that follow rules and pages that are made up."""

import asyncio
import json
import re
from collections import Counter
from datetime import UTC, datetime

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from bathysphere.agents.research import ResearchConfig, spec
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.core.errors import UpstreamError
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, says
from bathysphere.tools.search.contract import SearchResult

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
KEY = b"k" * 32
DEEP = "The bathysphere reached a depth of 923 metres in August 1934, off Bermuda."
MADE = "Otis Barton designed the bathysphere, and William Beebe named it."
PAGES = {
    "https://sea.example/dives": f"# Dives\n\n{DEEP} It hung from one steel cable.",
    "https://sea.example/makers": f"# Makers\n\n{MADE} Both men dived in it many times.",
}
QUESTION = "How deep did the bathysphere go?"


class StillClock:
    """It is always noon."""

    def now(self):
        return NOON

    def monotonic(self):
        return 0.0


class Pages:
    """A web of a few pages, and a count of what was asked of it."""

    def __init__(self, pages=PAGES, *, seconds=0.0, tools=None):
        self.pages = dict(pages)
        self.seconds = seconds
        self.asked = Counter()
        self.tools = tools or {
            "web_search": "words to search for",
            "fetch_page": "one full address",
            "read_context": "what the person attached",
        }

    async def search(self, query, limit):
        self.asked["search", query] += 1
        await asyncio.sleep(self.seconds)
        return [SearchResult(url, url.rsplit("/", 1)[-1]) for url in list(self.pages)[:limit]]

    async def fetch(self, url, may_visit, requester=None):
        self.asked["fetch", url] += 1
        assert may_visit(url) is None
        await asyncio.sleep(self.seconds)
        if url not in self.pages:
            raise UpstreamError(f"{url} is not there")
        text = self.pages[url]
        return take_snapshot(
            url, text.encode(), text, fetched_at=NOON, title=text.splitlines()[0].strip("# ")
        )

    async def corpus(self, query, limit):
        self.asked["corpus", query] += 1
        return [await self.fetch(url, lambda _: None) for url in list(self.pages)[:limit]]


def form_of(messages):
    """Which form a node asks for: the title of the schema in its instructions."""
    return re.search(r'"title":"(\w+)"', messages[0].text).group(1)


def plan(*steps, objective="Know how deep it went."):
    return {
        "objective": objective,
        "steps": [
            {"tool": tool, "input": words, "rationale": "", "after": list(after)}
            for tool, words, *after in steps
        ],
        "estimated_token_budget": 1000,
    }


def claim(text, *quotes):
    return {"text": text, "quotes": [{"source": s, "quote": q} for s, q in quotes]}


ONE_SEARCH = plan(("web_search", "bathysphere depth"))
REPORT = {"claims": [claim("It reached 923 metres.", ("S1", DEEP))], "contradictions": []}


def answering(**answers):
    """A model that gives each form its answers in order, the last one for ever."""
    given = {
        "PlanForm": [ONE_SEARCH],
        "AuditForm": [{"judgements": []}],
        "MoreForm": [{"requests": []}],
        "ReportForm": [REPORT],
        "RepairForm": [{"quotes": []}],
        "RouteForm": [{"kind": "new", "reason": "it is about something else"}],
        "FollowUpForm": [{"claims": REPORT["claims"]}],
        "JudgeForm": [{"judgements": []}],
    }
    given |= {
        name: value if isinstance(value, list) else [value] for name, value in answers.items()
    }
    asked = Counter()

    def answer(messages):
        form = form_of(messages)
        turns = given[form]
        turn = turns[min(asked[form], len(turns) - 1)]
        asked[form] += 1
        return says(turn if isinstance(turn, str) else json.dumps(turn))

    model = ScriptedChatModel(answer=answer)
    model.metadata = {"asked": asked}
    return model


class Rig:
    """One thread of research, step by step."""

    def __init__(self, model=None, *, audit=None, pages=None, thread="t", **config):
        self.model = model or answering()
        self.pages = pages or Pages()
        self.store = InMemoryStore()
        self.saver = InMemorySaver()
        options = config.pop("options", ResearchOptions(rounds=0))
        self.config = ResearchConfig(
            sources=self.pages,
            key=KEY,
            clock=StillClock(),
            options=options,
            retry_seconds=0.001,
            **config,
        )
        audit = audit or self.model
        models = Models(main=self.model, subagent=self.model, summary=self.model, audit=audit)
        self.graph = build(
            spec(models=models, config=self.config), checkpointer=self.saver, store=self.store
        )
        self.thread = {"configurable": {"thread_id": thread}}

    async def ask(self, question=QUESTION, **more):
        return await self.graph.ainvoke({"user_query": question, **more}, self.thread)

    async def say(self, **answer):
        return await self.graph.ainvoke(Command(resume=answer), self.thread)

    async def approve(self):
        return await self.say(type="approve")

    async def state(self):
        return (await self.graph.aget_state(self.thread)).values

    async def question(self):
        (asked,) = (await self.graph.aget_state(self.thread)).interrupts
        return asked

    async def finish(self, question=QUESTION, **more):
        await self.ask(question, **more)
        return await self.approve()
