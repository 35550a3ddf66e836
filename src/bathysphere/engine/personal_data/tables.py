"""Which rows of which tables belong to a person.

A test compares this list with the database: a table that is neither here nor known to hold nothing
of anybody fails it.
"""

from typing import NamedTuple

from bathysphere.core.identity import Owner
from bathysphere.engine.namespaces import owner_prefixes


class PersonalTable(NamedTuple):
    """The rows of a person in a table, as SQL."""

    table: str
    where: str
    """For the alias `t`; parameters: tenant, user, roots."""
    without: tuple[str, ...] = ()
    """Columns that are not exported: secrets, and contents that are exported elsewhere."""
    is_kept: bool = False
    """Whether its rows stay when the person is deleted, without their name."""


_OWN = "t.tenant = %(tenant)s AND t.owner = %(user)s"
_THREADS = f"SELECT o.thread_id FROM engine.threads o WHERE {_OWN.replace('t.', 'o.')}"  # noqa: S608
_THREAD_TEXTS = _THREADS.replace("o.thread_id", "o.thread_id::text", 1)
_RUNS = f"SELECT o.run_id FROM engine.runs o WHERE {_OWN.replace('t.', 'o.')}"  # noqa: S608
_SESSIONS = f"SELECT o.session_id FROM payments.sessions o WHERE {_OWN.replace('t.', 'o.')}"  # noqa: S608
_DEPOSITS = f"SELECT d.deposit_id FROM payments.deposits d WHERE d.session_id IN ({_SESSIONS})"  # noqa: S608
_NAMED = f"SELECT o.person_id FROM engine.audit_people o WHERE {_OWN.replace('t.', 'o.')}"  # noqa: S608
_OF_THREAD = f"t.thread_id IN ({_THREADS})"
_OF_THREAD_TEXT = f"t.thread_id IN ({_THREAD_TEXTS})"
_OF_SESSION = f"t.session_id IN ({_SESSIONS})"
_OF_DEPOSIT = f"t.deposit_id IN ({_DEPOSITS})"
_BLOB = ("blob",)

PERSONAL_TABLES: dict[str, PersonalTable] = {
    "threads": PersonalTable("engine.threads", _OWN),
    "runs": PersonalTable("engine.runs", _OWN, without=("token", "tag", "job_id")),
    "answers": PersonalTable("engine.answers", _OF_THREAD),
    "message_texts": PersonalTable("engine.message_texts", _OWN, without=("words",)),
    "shares": PersonalTable("engine.shares", _OWN, without=("share_id",)),
    "effects": PersonalTable("engine.effects", _OF_THREAD),
    "saved_writes": PersonalTable("engine.writes_before", f"t.run_id IN ({_RUNS})", _BLOB),
    "checkpoints": PersonalTable("checkpoints", _OF_THREAD_TEXT, ("checkpoint",)),
    "checkpoint_values": PersonalTable("checkpoint_blobs", _OF_THREAD_TEXT, _BLOB),
    "checkpoint_writes": PersonalTable("checkpoint_writes", _OF_THREAD_TEXT, _BLOB),
    "store": PersonalTable(
        "store",
        "EXISTS (SELECT 1 FROM unnest(%(roots)s::text[]) AS r (root)"
        " WHERE t.prefix = r.root OR starts_with(t.prefix, r.root || '.'))",
    ),
    "assistants": PersonalTable("engine.assistants", _OWN),
    "assistant_versions": PersonalTable("engine.assistant_versions", _OWN),
    "crons": PersonalTable("engine.crons", _OWN),
    "webhooks": PersonalTable("engine.webhooks", _OWN),
    "push_subscriptions": PersonalTable(
        "engine.push_subscriptions", _OWN, without=("endpoint", "p256dh", "auth")
    ),
    "push_notices": PersonalTable("engine.push_notices", _OWN),
    "turns": PersonalTable("engine.turns", _OWN),
    "usage": PersonalTable("engine.usage", _OWN, is_kept=True),
    "model_calls": PersonalTable("engine.model_calls", _OWN, is_kept=True),
    "audit": PersonalTable(
        "engine.audit", f"(t.actor IN ({_NAMED}) OR t.person IN ({_NAMED}))", is_kept=True
    ),
    "audit_names": PersonalTable("engine.audit_people", _OWN, without=("salt",)),
    "budgets": PersonalTable("engine.budgets", _OWN),
    "api_keys": PersonalTable("identity.api_keys", _OWN, without=("digest",)),
    "jobs": PersonalTable("procrastinate_jobs", f"t.lock IN ({_THREAD_TEXTS})"),
    "file_changes": PersonalTable(
        "engine.file_changes",
        "t.tenant = %(tenant)s AND (t.asked_by = %(user)s OR t.approver = %(user)s)",
        is_kept=True,
    ),
    "payment_sessions": PersonalTable("payments.sessions", _OWN, is_kept=True),
    "payment_deposits": PersonalTable("payments.deposits", _OF_SESSION, is_kept=True),
    "payment_proofs": PersonalTable("payments.proofs", _OF_DEPOSIT, ("proof",), is_kept=True),
    "payment_swaps": PersonalTable(
        "payments.swaps", _OF_DEPOSIT, ("body", "outputs", "leased_by"), is_kept=True
    ),
    "payment_charges": PersonalTable("payments.charges", _OF_SESSION, is_kept=True),
    "payment_refunds": PersonalTable("payments.refunds", _OF_SESSION, is_kept=True),
    "payment_entries": PersonalTable("payments.entries", _OF_SESSION, is_kept=True),
}
"""By the name of their file in an export."""


def parameters(owner: Owner) -> dict[str, object]:
    """The parameters of the conditions."""
    return {"tenant": owner.tenant, "user": owner.user, "roots": owner_prefixes(owner)}
