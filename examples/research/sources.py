"""Where the researchers read: the web if a search engine is set, or the bundled sample pages."""

from langchain_core.tools import BaseTool, tool

from bathysphere.agents.research.source_access import sample_corpus
from bathysphere.harness.web_tools import FETCH, SEARCH, WebAccess
from bathysphere.tools.search.corpus import NotInCorpus
from bathysphere.tools.settings import FetchSettings, SearchSettings


def web_tools() -> list[BaseTool]:
    """Tools for the web, over a client that refuses private addresses."""
    access = WebAccess(fetch=FetchSettings().rules(), search=SearchSettings())
    return list(access.tools().values())


def sample_tools() -> list[BaseTool]:
    """The same tools over the sample pages, without a network."""
    corpus = sample_corpus()

    @tool(description=SEARCH)
    async def web_search(query: str) -> str:
        found = await corpus.search(query)
        return "\n\n".join(f"{each.title}\n{each.url}\n{each.snippet}" for each in found)

    @tool(description=FETCH)
    async def fetch_page(url: str) -> str:
        try:
            return corpus.document(url).text
        except NotInCorpus as error:
            return str(error)

    return [web_search, fetch_page]
