"""LangGraph's store for one owner's graphs: no namespace reaches another owner's items.

Items that nodes keep under `core.writers.RESERVED_NAMESPACE` have a separate root (`engine`, not
`owners`), which the HTTP API's `/store` cannot address.
"""

from collections.abc import Iterable
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
)

from bathysphere.core.identity import Owner
from bathysphere.core.writers import RESERVED_NAMESPACE
from bathysphere.engine.database.pool import storage_errors
from bathysphere.engine.database.stored_bytes import CountBytes
from bathysphere.engine.namespaces import Namespace, engine_namespace, owner_namespace


class OwnedStore(BaseStore):
    """A store that prefixes every namespace with its owner."""

    def __init__(
        self, store: BaseStore, owner: Owner, count_bytes: CountBytes | None = None
    ) -> None:
        self._store = store
        self._count_bytes = count_bytes
        self._root = owner_namespace(owner)
        self._engine_root = engine_namespace(owner)
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations."""
        with storage_errors():
            results = self._store.batch([self._owned(op) for op in ops])
        return [self._unrooted(result) for result in results]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations."""
        ops = list(ops)
        if self._count_bytes is not None and (size := sum(_size(op) for op in ops)):
            await self._count_bytes(size)
        with storage_errors():
            results = await self._store.abatch([self._owned(op) for op in ops])
        return [self._unrooted(result) for result in results]

    def _owned(self, op: Op) -> Op:
        if isinstance(op, PutOp):
            rooted = op._replace(namespace=self._rooted(op.namespace))
            # What the engine vouches for neither expires nor is found by meaning.
            is_reserved = op.namespace[:1] == (RESERVED_NAMESPACE,)
            return rooted._replace(ttl=None, index=False) if is_reserved else rooted
        if isinstance(op, GetOp):
            return op._replace(namespace=self._rooted(op.namespace))
        if isinstance(op, SearchOp):
            return op._replace(namespace_prefix=self._rooted(op.namespace_prefix))
        return self._owned_list(op)

    def _owned_list(self, op: ListNamespacesOp) -> ListNamespacesOp:
        original = op.match_conditions or ()
        prefixes = [c.path for c in original if c.match_type == "prefix"] or [()]
        conditions = [c for c in original if c.match_type != "prefix"]
        conditions += [MatchCondition("prefix", self._rooted(path)) for path in prefixes]
        depth = op.max_depth + len(self._root) if op.max_depth is not None else None
        return op._replace(match_conditions=tuple(conditions), max_depth=depth)

    def _rooted(self, namespace: tuple[str, ...]) -> Namespace:
        is_reserved = namespace[:1] == (RESERVED_NAMESPACE,)
        return (*(self._engine_root if is_reserved else self._root), *namespace)

    def _unrooted(self, result: Any) -> Any:
        if isinstance(result, Item):
            result.namespace = tuple(result.namespace[len(self._root) :])
        elif isinstance(result, tuple):
            return result[len(self._root) :]
        elif isinstance(result, list):
            return [self._unrooted(one) for one in result]
        return result


def _size(op: Op) -> int:
    """Approximate bytes that the operation stores."""
    return len(repr(op.value)) if isinstance(op, PutOp) and op.value is not None else 0
