"""The store as its owners see it: each namespace begins with its owner, put there in one place."""

from collections.abc import Awaitable
from typing import Any, TypeVar

from langgraph.store.base import BaseStore, Item, SearchItem

from bathysphere.engine.owned_store import owner_namespace
from bathysphere.engine.records import Owner
from bathysphere.server.errors import InvalidRequest, ItemNotFound

Json = dict[str, Any]
_T = TypeVar("_T")


class Items:
    """One owner's items."""

    def __init__(self, store: BaseStore, owner: Owner) -> None:
        self._store = store
        self._root = owner_namespace(owner)

    async def put(self, namespace: list[str], key: str, value: Json, **options: Any) -> None:
        """Keep an item."""
        await _asked(self._store.aput(self._own(namespace), key, value, **options))

    async def get(self, namespace: list[str], key: str) -> Json:
        """One item.

        Raises:
            ItemNotFound: There is none.
        """
        item = await self._store.aget(self._own(namespace), key)
        if item is None:
            raise ItemNotFound(f"no item {key!r}")
        return self._view(item)

    async def delete(self, namespace: list[str], key: str) -> None:
        """Forget an item."""
        await self._store.adelete(self._own(namespace), key)

    async def search(self, prefix: list[str], **options: Any) -> list[Json]:
        """The items below a namespace."""
        found = await _asked(self._store.asearch(self._own(prefix), **options))
        return [self._view(item) for item in found]

    async def namespaces(
        self, *, prefix: list[str], suffix: list[str] | None, **options: Any
    ) -> list[list[str]]:
        """The namespaces that have items."""
        depth = options.pop("max_depth", None)
        found = await _asked(
            self._store.alist_namespaces(
                prefix=self._own(prefix),
                suffix=_parts(suffix) if suffix else None,
                max_depth=depth + len(self._root) if depth is not None else None,
                **options,
            )
        )
        return [list(namespace[len(self._root) :]) for namespace in found]

    def _own(self, namespace: list[str]) -> tuple[str, ...]:
        return (*self._root, *_parts(namespace))

    def _view(self, item: Item) -> Json:
        view = {**item.dict(), "namespace": list(item.namespace[len(self._root) :])}
        if isinstance(item, SearchItem):
            view["score"] = item.score
        return view


async def _asked(operation: Awaitable[_T]) -> _T:
    """The store's own refusals (a bad filter, a bad namespace), said as ours."""
    try:
        return await operation
    except ValueError as error:
        raise InvalidRequest(f"the store does not take this: {error}") from error


def _parts(namespace: list[str]) -> tuple[str, ...]:
    if any(not part or "." in part for part in namespace):
        raise InvalidRequest("a namespace's parts are texts without dots")
    return tuple(namespace)
