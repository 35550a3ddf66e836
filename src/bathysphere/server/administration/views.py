"""What administrators are shown, as JSON. Errors are codes: messages could quote a conversation."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from bathysphere.engine.audit.log import AuditEntry
from bathysphere.engine.records import Run
from bathysphere.engine.usage.budgets import Budget
from bathysphere.server.identity.api_keys import ApiKey
from bathysphere.server.schemas.protocol import Open

Name = Annotated[str, Field(min_length=1, max_length=200)]
Unit = Annotated[str, Field(pattern="^(tokens|[A-Z]{3})$")]


class NewBudget(Open):
    """What a tenant, or one user of it, may use per month."""

    tenant: Name
    user: Annotated[str, Field(max_length=200)] = ""
    unit: Unit = "tokens"
    amount: Annotated[Decimal, Field(ge=0, max_digits=24, decimal_places=6)]


class NewApiKey(Open):
    """Whose the key is, and for how long it is valid."""

    tenant: Name
    user: Name
    label: Annotated[str, Field(max_length=200)] = ""
    days: Annotated[int, Field(ge=1, le=3660)] = 90


def run_view(run: Run) -> dict[str, Any]:
    """A run without its input, results and messages."""
    return {
        "run_id": str(run.run_id),
        "thread_id": str(run.thread_id),
        "tenant": run.owner.tenant,
        "user": run.owner.user,
        "agent": run.graph,
        "status": run.status,
        "attempts": run.attempt,
        "created_at": _time(run.created_at),
        "finished_at": _time(run.finished_at),
        "error": (run.error or {}).get("code"),
    }


def budget_view(budget: Budget) -> dict[str, Any]:
    """A budget; the amount is a decimal number as text."""
    return {**budget._asdict(), "amount": format(budget.amount, "f")}


def key_view(key: ApiKey, now: datetime) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "key_id": key.key_id,
        "tenant": key.owner.tenant,
        "user": key.owner.user,
        "label": key.label,
        "state": key.state(now),
        "expires_at": _time(key.expires_at),
        "last_used_at": _time(key.last_used_at),
    }


def audit_view(entry: AuditEntry) -> dict[str, Any]:
    """A row of the audit log."""
    row = entry.row
    return {
        "seq": row.seq,
        "at": _time(row.at),
        "actor": entry.actor,
        "action": row.action,
        "tenant": row.tenant,
        "user": entry.user,
        "subject": row.subject,
        "details": dict(row.details),
    }


def _time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment is not None else None
