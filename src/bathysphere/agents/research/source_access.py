"""Sources of research: the web through a guarded client, a local corpus, or sample pages."""

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Protocol

from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.errors import ConfigError
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH
from bathysphere.tools.document_files import no_documents
from bathysphere.tools.errors import FetchRefused
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader
from bathysphere.tools.parsing_budget import Requester
from bathysphere.tools.search.contract import SearchEngine, SearchResult, search_with
from bathysphere.tools.search.corpus import Corpus
from bathysphere.tools.settings import SearchSettings, search_engine

PAGE_TOOL = {FETCH_PAGE: "one full https address, which is opened"}
WEB_TOOLS = {
    WEB_SEARCH: "words to search the web for; the best results are opened",
    **PAGE_TOOL,
}
CORPUS_TOOLS = {SEARCH_CORPUS: "words to search the documents for; the best ones are read"}
OWN_TOOLS = {READ_CONTEXT: "what the person attached"}


MayVisit = Callable[[str], str | None]
"""Checks a redirect target; returns the reason to refuse it, or None."""


class SourceAccess(Protocol):
    """Access to the web and local documents for a run."""

    @property
    def tools(self) -> Mapping[str, str]:
        """Available tools, each with a description of its input."""

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """Search the web."""

    async def fetch(self, url: str, may_visit: MayVisit, requester: Requester) -> Snapshot:
        """Open a page; parsing is charged to the requester's budget."""

    async def corpus(self, query: str, limit: int) -> Sequence[Snapshot]:
        """Search the operator's documents and read the results."""


class GuardedSources:
    """The sources of a deployment; each call uses its own guarded client."""

    def __init__(
        self,
        *,
        corpus: Corpus | None = None,
        search: SearchSettings | None = None,
        opens_pages: bool = False,
        fetch: FetchRules | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._corpus = corpus
        self._search = search
        self._opens_pages = opens_pages
        self._rules = fetch or FetchRules()
        self._clock = clock or SystemClock()

    @property
    def tools(self) -> Mapping[str, str]:
        """Available tools."""
        web = WEB_TOOLS if self._search is not None else PAGE_TOOL if self._opens_pages else {}
        own = CORPUS_TOOLS if self._corpus is not None else {}
        return {**own, **web, **OWN_TOOLS}

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """Search the web.

        Raises:
            SearchFailed: The search engine failed.
        """
        async with Fetcher(self._rules) as fetcher:
            return await search_with(self._engine(fetcher), query, limit=limit)

    async def fetch(self, url: str, may_visit: MayVisit, requester: Requester) -> Snapshot:
        """Open a page; every redirect target is checked first."""

        async def visit(address: str) -> None:
            if (why := may_visit(address)) is not None:
                raise FetchRefused(why, reason="plan")

        async with Fetcher(self._rules) as fetcher:
            reader = PageReader(fetcher, self._clock)
            return await reader.read(url, visit=visit, requester=requester)

    async def corpus(self, query: str, limit: int) -> Sequence[Snapshot]:
        """Search the corpus and read the results."""
        if self._corpus is None:
            raise ConfigError("No corpus is configured", hint="set BATHYSPHERE_RESEARCH_CORPUS")
        found = await search_with(self._corpus, query, limit=limit)
        return [self._corpus.read(one.url, self._clock) for one in found]

    def _engine(self, fetcher: Fetcher) -> SearchEngine:
        if self._search is None:
            raise ConfigError("No search engine is configured", hint="see docs/research.md")
        return search_engine(self._search, fetcher)


def corpus_of(folder: Path) -> Corpus:
    """Load the documents of a folder.

    Raises:
        ConfigError: The folder does not exist or has no readable files.
    """
    if not folder.is_dir():
        raise ConfigError(f"Folder not found: {folder}", hint="choose a folder with documents")
    corpus = Corpus.of_folder(folder)
    if not len(corpus):
        raise no_documents(folder)
    return corpus


def sample_corpus() -> Corpus:
    """Load the bundled sample pages."""
    with as_file(files("bathysphere.agents.research").joinpath("sample")) as folder:
        return Corpus.of_folder(folder)


def sample() -> GuardedSources:
    """Return the bundled sample pages, for use without a network."""
    return GuardedSources(corpus=sample_corpus())
