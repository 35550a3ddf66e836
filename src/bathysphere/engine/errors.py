"""Errors of the engine."""

from collections.abc import Mapping
from typing import Self
from uuid import UUID

from bathysphere.core.budgets import SpentBudget
from bathysphere.core.errors import BathysphereError, CallerError, ConfigError
from bathysphere.engine.fairness import WaitingLimits


class ThreadNotFound(CallerError):
    """The thread does not exist or belongs to another owner."""

    code = "thread_not_found"


class RunNotFound(CallerError):
    """The run does not exist or belongs to another owner."""

    code = "run_not_found"


class RunIdTaken(CallerError):
    """The client's run id is already used by another run."""

    code = "run_id_taken"


class ThreadBusy(CallerError):
    """The thread has an active run that the request must not wait for or replace."""

    code = "thread_busy"


class TooManyWaiting(CallerError):
    """The thread, user or tenant has reached its limit of pending runs."""

    code = "too_many_waiting_runs"

    @classmethod
    def of(cls, thread_id: UUID, room: Mapping[str, bool], limits: WaitingLimits) -> Self:
        """Name the limit that was reached, the narrowest first."""
        hint = "wait for some to end, or cancel them; the operator sets this limit"
        if not room["on_thread"]:
            return cls(
                f"Thread {thread_id} already has {limits.per_thread} pending runs", hint=hint
            )
        if not room["of_user"]:
            return cls(f"This user already has {limits.per_user} pending runs", hint=hint)
        return cls(f"This tenant already has {limits.per_tenant} pending runs", hint=hint)


class BudgetExceeded(CallerError):
    """The user or tenant has used up its budget of this month."""

    code = "budget_exceeded"

    @classmethod
    def of(cls, spent: SpentBudget) -> Self:
        """Name the budget."""
        return cls(spent.sentence, hint="wait for the next month, or ask your operator for more")


class StorageFull(CallerError):
    """The user or tenant has reached its storage limit in the database."""

    code = "storage_full"

    @classmethod
    def of(cls, scope: str, limit: int) -> Self:
        """Name the limit that was reached."""
        hint = "delete threads or stored items; the operator sets this limit"
        return cls(f"Storage of this {scope} is full: {limit} bytes", hint=hint)


class ShareNotFound(CallerError):
    """The shared conversation does not exist, has expired, was revoked, or is not the caller's."""

    code = "share_not_found"


class NothingToShare(CallerError):
    """A conversation in which nothing was said, or too much for a page."""

    code = "nothing_to_share"

    @classmethod
    def of(cls, size: int, limit: int) -> Self:
        """Say which of both it is."""
        if size > limit:
            hint = "export it as Markdown instead"
            return cls(f"The conversation is too long to share: {size} bytes", hint=hint)
        return cls("Nothing was said in this conversation yet")


class TooManyShares(CallerError):
    """The thread or the tenant has reached its limit of shared snapshots."""

    code = "too_many_shares"

    @classmethod
    def of(cls, per_thread: int, per_tenant: int) -> Self:
        """Name the limits."""
        if not per_tenant:
            return cls("Sharing is turned off on this server")
        return cls(
            f"At most {per_thread} links per conversation and {per_tenant} in all may be shared",
            hint="revoke some, or wait until they expire",
        )


class CronNotFound(CallerError):
    """The schedule does not exist or belongs to another owner."""

    code = "cron_not_found"


class InvalidSchedule(CallerError):
    """A cron expression, time zone or end time that cannot be used; the message names the field."""

    code = "invalid_schedule"


class InvalidWebhook(CallerError):
    """A URL that cannot receive webhooks; the message names the field."""

    code = "invalid_webhook"


class InvalidPushSubscription(CallerError):
    """A browser's subscription whose endpoint or keys cannot be used."""

    code = "invalid_push_subscription"


class TooManyCrons(CallerError):
    """The tenant has reached its limit of schedules."""

    code = "too_many_crons"


class GraphNotFound(CallerError):
    """No graph has this name."""

    code = "graph_not_found"


class AssistantNotFound(CallerError):
    """The assistant does not exist or belongs to another owner."""

    code = "assistant_not_found"


class AssistantExists(CallerError):
    """The assistant id chosen by the client is already in use."""

    code = "assistant_exists"


class TooManyAssistants(CallerError):
    """The user has too many assistants, or an assistant has too many versions."""

    code = "too_many_assistants"


class AnswerRefused(CallerError):
    """An answer does not match its question."""

    code = "answer_refused"


class QuestionNotFound(AnswerRefused):
    """The question is not open: it never existed, or was superseded."""

    code = "question_not_found"


class MigrationBlocked(ConfigError):
    """A migration cannot lock a table, because a long transaction uses it."""

    code = "migration_blocked"


class Superseded(BathysphereError):
    """This attempt may no longer write: another worker took over the run."""

    code = "superseded"
    ends_run = True


class EncryptionKeyMissing(ConfigError):
    """Contents are encrypted with a key that the settings do not have."""

    code = "encryption_key_missing"
    ends_run = True

    @classmethod
    def of(cls, key_id: str) -> Self:
        """Name the key."""
        return cls(
            f"Encryption key '{key_id}' is missing",
            hint="stored contents need it: add it to BATHYSPHERE_ENCRYPTION_KEYS",
        )


class EncryptionKeyWrong(ConfigError):
    """The settings have another key under the id of one that contents are encrypted with."""

    code = "encryption_key_wrong"

    @classmethod
    def of(cls, key_id: str) -> Self:
        """Name the key."""
        return cls(
            f"Encryption key '{key_id}' is not the one that stored contents were encrypted with",
            hint="set the original key, and give a new key another id",
        )


class DecryptionFailed(BathysphereError):
    """A stored value was changed, moved, or is plain text where that is refused."""

    code = "decryption_failed"
    ends_run = True


class MessageSearchOff(CallerError):
    """Messages cannot be searched: the server does not store their words."""

    code = "message_search_off"
