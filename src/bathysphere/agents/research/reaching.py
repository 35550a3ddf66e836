"""What research can reach: the web under guard, a corpus on this machine, or a few sample pages."""

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from bathysphere.agents.research.parts import MayVisit
from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.errors import ConfigError
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH
from bathysphere.tools.errors import FetchRefused
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader
from bathysphere.tools.search.contract import SearchEngine, SearchResult
from bathysphere.tools.search.corpus import Corpus
from bathysphere.tools.settings import SearchSettings, search_engine

WEB_TOOLS = {
    WEB_SEARCH: "words to search the web for; the best results are opened",
    FETCH_PAGE: "one full https address, which is opened",
}
CORPUS_TOOLS = {SEARCH_CORPUS: "words to search the documents for; the best ones are read"}
OWN_TOOLS = {READ_CONTEXT: "what the person attached"}


class Reaching:
    """The tools of one deployment. Each call has a guarded client of its own."""

    def __init__(
        self,
        *,
        corpus: Corpus | None = None,
        search: SearchSettings | None = None,
        fetch: FetchRules | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._corpus = corpus
        self._search = search
        self._rules = fetch or FetchRules()
        self._clock = clock or SystemClock()

    @property
    def tools(self) -> Mapping[str, str]:
        """The tools there are."""
        web = WEB_TOOLS if self._search is not None else {}
        own = CORPUS_TOOLS if self._corpus is not None else {}
        return {**own, **web, **OWN_TOOLS}

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """Search the web.

        Raises:
            SearchFailed: The engine did not answer as one.
        """
        async with Fetcher(self._rules) as fetcher:
            return await self._engine(fetcher).search(query, limit=limit)

    async def fetch(self, url: str, may_visit: MayVisit) -> Snapshot:
        """Open a page; each address on the way is asked about first."""

        async def visit(address: str) -> None:
            if (why := may_visit(address)) is not None:
                raise FetchRefused(why, reason="plan")

        async with Fetcher(self._rules) as fetcher:
            return await PageReader(fetcher, self._clock).read(url, visit=visit)

    async def corpus(self, query: str, limit: int) -> Sequence[Snapshot]:
        """Search the corpus, and read what is found."""
        if self._corpus is None:
            raise ConfigError("there is no corpus", hint="set BATHYSPHERE_RESEARCH_CORPUS")
        found = await self._corpus.search(query, limit=limit)
        return [self._corpus.read(one.url, self._clock) for one in found]

    def _engine(self, fetcher: Fetcher) -> SearchEngine:
        if self._search is None:
            raise ConfigError("there is no search engine", hint="see docs/research.md")
        return search_engine(self._search, fetcher)


def corpus_of(folder: Path) -> Corpus:
    """The documents of a folder.

    Raises:
        ConfigError: There is no such folder, or nothing to read in it.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}", hint="give one with .md or .txt files")
    corpus = Corpus.of_folder(folder)
    if not len(corpus):
        raise ConfigError(f"{folder} has no .md or .txt files", hint="put your documents there")
    return corpus


def sample() -> Reaching:
    """The pages that ship, for a first look without a network."""
    with as_file(files("bathysphere.agents.research").joinpath("sample")) as folder:
        return Reaching(corpus=Corpus.of_folder(folder))
