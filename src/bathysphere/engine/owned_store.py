"""LangGraph's store as one owner's graphs see it: no namespace reaches another owner's items."""

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

from bathysphere.engine.records import Owner

Namespace = tuple[str, ...]


def owner_namespace(owner: Owner) -> Namespace:
    """Where an owner's items begin. Dots would end a part of a namespace, so they are escaped."""
    return ("owners", _part(owner.tenant), _part(owner.user))


class OwnedStore(BaseStore):
    """A store in which every namespace begins with its owner, put there in one place."""

    def __init__(self, store: BaseStore, owner: Owner) -> None:
        self._store = store
        self._root = owner_namespace(owner)
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations."""
        return [self._seen(r) for r in self._store.batch([self._owned(op) for op in ops])]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations."""
        return [self._seen(r) for r in await self._store.abatch([self._owned(op) for op in ops])]

    def _owned(self, op: Op) -> Op:
        if isinstance(op, GetOp | PutOp):
            return op._replace(namespace=self._root + op.namespace)
        if isinstance(op, SearchOp):
            return op._replace(namespace_prefix=self._root + op.namespace_prefix)
        return self._owned_list(op)

    def _owned_list(self, op: ListNamespacesOp) -> ListNamespacesOp:
        given = op.match_conditions or ()
        prefixes = [c.path for c in given if c.match_type == "prefix"] or [()]
        conditions = [c for c in given if c.match_type != "prefix"]
        conditions += [MatchCondition("prefix", (*self._root, *path)) for path in prefixes]
        depth = op.max_depth + len(self._root) if op.max_depth is not None else None
        return op._replace(match_conditions=tuple(conditions), max_depth=depth)

    def _seen(self, result: Any) -> Any:
        if isinstance(result, Item):
            result.namespace = tuple(result.namespace[len(self._root) :])
        elif isinstance(result, tuple):
            return result[len(self._root) :]
        elif isinstance(result, list):
            return [self._seen(one) for one in result]
        return result


def _part(name: str) -> str:
    return name.replace("%", "%25").replace(".", "%2E") or "%"
