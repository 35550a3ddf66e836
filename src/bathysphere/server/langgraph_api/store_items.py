"""Read and write an owner's store items over HTTP.

`OwnedStore` isolates owners. Items that the engine vouches for, such as the sources of a report,
have a reserved namespace, which is refused here: clients can neither read nor write it.
"""

from collections.abc import Awaitable
from typing import Any, TypeVar

from langgraph.store.base import BaseStore, Item, SearchItem

from bathysphere.core.identity import Owner
from bathysphere.core.writers import RESERVED_NAMESPACE
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.database.tenant_reads import TenantStore
from bathysphere.server.errors import InvalidRequest, ItemNotFound

Json = dict[str, Any]
_T = TypeVar("_T")


class Items:
    """The store items of one owner."""

    def __init__(self, store: BaseStore, owner: Owner) -> None:
        self._store = OwnedStore(TenantStore(store, owner), owner)

    async def put(self, namespace: list[str], key: str, value: Json, **options: Any) -> None:
        """Store an item."""
        await _run(self._store.aput(_validated(namespace), key, value, **options))

    async def get(self, namespace: list[str], key: str) -> Json:
        """Return an item.

        Raises:
            ItemNotFound: It does not exist.
        """
        item = await _run(self._store.aget(_validated(namespace), key))
        if item is None:
            raise ItemNotFound(f"Item {key!r} not found")
        return _view(item)

    async def delete(self, namespace: list[str], key: str) -> None:
        """Delete an item."""
        await _run(self._store.adelete(_validated(namespace), key))

    async def search(self, prefix: list[str], **options: Any) -> list[Json]:
        """Search the items below a namespace."""
        found = await _run(self._store.asearch(_validated(prefix), **options))
        return [_view(item) for item in found]

    async def namespaces(
        self, *, prefix: list[str], suffix: list[str] | None, **options: Any
    ) -> list[list[str]]:
        """List the namespaces that have items."""
        found = await _run(
            self._store.alist_namespaces(
                prefix=_validated(prefix),
                suffix=_validated(suffix) if suffix else None,
                **options,
            )
        )
        return [list(namespace) for namespace in found]


def _view(item: Item) -> Json:
    view = {**item.dict(), "namespace": list(item.namespace)}
    if isinstance(item, SearchItem):
        view["score"] = item.score
    return view


async def _run(operation: Awaitable[_T]) -> _T:
    """Convert the store's errors (invalid filter or namespace) to `InvalidRequest`."""
    try:
        return await operation
    except ValueError as error:
        raise InvalidRequest(f"Invalid store request: {error}") from error


def _validated(namespace: list[str]) -> tuple[str, ...]:
    if any(not part or "." in part for part in namespace):
        raise InvalidRequest("Namespace segments must be non-empty strings without dots")
    if RESERVED_NAMESPACE in namespace[:1]:
        raise InvalidRequest(
            f"Reserved namespace: '{RESERVED_NAMESPACE}'", hint="only agents can use it"
        )
    return tuple(namespace)
