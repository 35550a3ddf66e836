"""Root namespaces of each owner's items in LangGraph's store, for clients and for the engine."""

from bathysphere.core.identity import Owner
from bathysphere.core.writers import thread_namespace

Namespace = tuple[str, ...]


def owner_namespace(owner: Owner) -> Namespace:
    """Root of an owner's items. Dots separate segments of a namespace, so they are escaped."""
    return ("owners", _escape(owner.tenant), _escape(owner.user))


def engine_namespace(owner: Owner) -> Namespace:
    """Root of the engine's own items of an owner, which no client can read or write."""
    return ("engine", _escape(owner.tenant), _escape(owner.user))


def owner_prefixes(owner: Owner) -> list[str]:
    """Prefixes of an owner's items, as the store writes namespaces."""
    return [".".join(root) for root in (owner_namespace(owner), engine_namespace(owner))]


def tenant_prefixes(tenant: str) -> list[str]:
    """Prefixes of the items of all users of a tenant."""
    return [f"{root}.{_escape(tenant)}." for root in ("owners", "engine")]


def engine_thread_namespace(owner: Owner, thread_id: str) -> Namespace:
    """Root of the engine's items of a thread, which are deleted with the thread."""
    return (*engine_namespace(owner), *thread_namespace(thread_id))


def _escape(name: str) -> str:
    return name.replace("%", "%25").replace(".", "%2E") or "%"
