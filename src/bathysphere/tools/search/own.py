"""A search engine of the operator: `module:attribute`, a function from a fetcher to an engine."""

import inspect
from importlib import import_module

from bathysphere.core.errors import BathysphereError, ConfigError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import Fetcher
from bathysphere.tools.search.contract import SearchEngine, SearchResult, query_text, tidy


def own_engine(target: str, fetcher: Fetcher) -> SearchEngine:
    """Import the function that a target names, and let it build the engine.

    Args:
        target: `module:attribute`; the module must be on Python's path.
        fetcher: For requests to public addresses.

    Raises:
        ConfigError: It cannot be imported, or does not build a search engine.
    """
    module, _, attribute = target.partition(":")
    try:
        build = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        hint = f"{error}; check BATHYSPHERE_SEARCH_ENGINE and PYTHONPATH"
        raise ConfigError(f"Search engine not found: {target}", hint=hint) from error
    engine = build(fetcher) if callable(build) else build
    is_engine = isinstance(getattr(engine, "name", None), str)
    if not is_engine or not inspect.iscoroutinefunction(getattr(engine, "search", None)):
        hint = "return an object with a `name` and `async def search(query, *, limit)`"
        raise ConfigError(f"Not a search engine: {target}", hint=hint)
    return _Own(engine)


class _Own:
    """An engine whose results are checked, and whose failures are those of a search."""

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        try:
            found = await self._engine.search(query_text(query), limit=limit)
        except BathysphereError:
            raise
        except Exception as error:  # code of others
            hint = f"{self.name} raised {type(error).__name__}: {error}"
            raise SearchFailed("The search failed", hint=hint) from error
        return tidy(found, limit)
