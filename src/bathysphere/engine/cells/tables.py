"""Which rows of which tables belong to a tenant and move with it.

A test compares these lists with the database: a table that is in neither of them fails it.
"""

from typing import Any, NamedTuple

from bathysphere.engine.namespaces import tenant_prefixes

_OWN = "t.tenant = %(tenant)s"
_THREADS = "SELECT o.thread_id FROM engine.threads o WHERE o.tenant = %(tenant)s"
_RUNS = "SELECT o.run_id FROM engine.runs o WHERE o.tenant = %(tenant)s"
_OF_THREAD = f"t.thread_id IN ({_THREADS})"
_OF_THREAD_TEXT = f"t.thread_id IN ({_THREADS.replace('thread_id', 'thread_id::text', 1)})"
# A range that the index on prefixes can find; a dot and a slash are neighbours.
_ITEMS = """
    (t.prefix ~>=~ %(own_items)s AND t.prefix ~<~ %(own_items_end)s)
 OR (t.prefix ~>=~ %(engine_items)s AND t.prefix ~<~ %(engine_items_end)s)
"""


class MovedTable(NamedTuple):
    """The rows of a tenant in a table, as SQL."""

    name: str
    where: str
    """For the alias `t`; see `parameters`."""


MOVED_TABLES = (
    MovedTable("engine.threads", _OWN),
    MovedTable("engine.runs", _OWN),
    MovedTable("engine.answers", _OF_THREAD),
    MovedTable("engine.effects", _OF_THREAD),
    MovedTable("engine.writes_before", f"t.run_id IN ({_RUNS})"),
    MovedTable("checkpoints", _OF_THREAD_TEXT),
    MovedTable("checkpoint_blobs", _OF_THREAD_TEXT),
    MovedTable("checkpoint_writes", _OF_THREAD_TEXT),
    MovedTable("engine.message_texts", _OWN),
    MovedTable("engine.shares", _OWN),
    MovedTable("engine.assistants", _OWN),
    MovedTable("engine.assistant_versions", _OWN),
    MovedTable("engine.crons", _OWN),
    MovedTable("engine.webhooks", _OWN),
    MovedTable("engine.push_subscriptions", _OWN),
    MovedTable("engine.push_notices", _OWN),
    MovedTable("engine.usage", _OWN),
    MovedTable("engine.model_calls", _OWN),
    MovedTable("engine.budgets", _OWN),
    MovedTable("engine.file_changes", _OWN),
    MovedTable("identity.api_keys", _OWN),
    MovedTable("store", _ITEMS),
    MovedTable("store_vectors", _ITEMS),  # where the store has an index of meanings
)
"""In an order in which each row comes after those that it refers to."""

STAYING_TABLES = {
    "engine.audit": "a chain of hashes, which says in either cell what was done there",
    "engine.audit_people": "the names of that chain",
    "engine.turns": "who was served last by these workers",
    "engine.worker_slots": "of the workers of the database",
    "engine.cell_tenants": "where tenants are",
    "engine.cell_arrivals": "which moves have ended here",
    "engine.encryption_keys": "of the database",
    "engine.epochs": "of the database",
    "engine.migrations": "of the database",
    "checkpoint_migrations": "of the database",
    "store_migrations": "of the database",
    "vector_migrations": "of the database",
    "procrastinate_jobs": "made again from the runs that are to go on",
    "procrastinate_events": "of jobs",
    "procrastinate_periodic_defers": "of jobs",
    "procrastinate_workers": "of the database",
    "payments.sessions": "books; a tenant with money that is not settled does not move",
    "payments.deposits": "books",
    "payments.proofs": "books",
    "payments.charges": "books",
    "payments.swaps": "books",
    "payments.vault": "what the operator of this cell has earned",
    "payments.refunds": "books",
    "payments.entries": "books",
    "payments.withdrawals": "what the operator has taken out",
    "payments.withdrawn": "what the operator has taken out",
}
"""Tables that stay, and why."""


def parameters(tenant: str) -> dict[str, Any]:
    """The parameters of the conditions."""
    own, engine = tenant_prefixes(tenant)
    return {
        "tenant": tenant,
        "own_items": own,
        "own_items_end": f"{own[:-1]}/",
        "engine_items": engine,
        "engine_items_end": f"{engine[:-1]}/",
    }
