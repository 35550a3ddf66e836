"""The research desk of an API process: questions in, decisions on plans, reports and proofs out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.download import Download, Format, download
from bathysphere.agents.research.keeping import StoredSnapshots
from bathysphere.core.errors import ConfigError
from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.owned_store import OwnedStore
from bathysphere.engine.records import Owner
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.models.settings import ModelSettings
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.model_loading import ModelLoading
from bathysphere.server.protocol.research import snake
from bathysphere.server.schemas.research import ResearchApprove, ResearchCreate
from bathysphere.server.services import Services

TYPE = "plan_approval"


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What the research routes need beside the engine."""

    models: ModelSettings
    research: ResearchConfig | None = None
    loading: ModelLoading = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loading", ModelLoading(self.models))

    async def download(
        self,
        services: Services,
        thread_id: UUID,
        values: Mapping[str, Any],
        kind: Format,
        *,
        owner: Owner,
    ) -> Download:
        """A finished report as a file.

        Raises:
            ReportNotFound: The thread has no report.
            ConfigError: This process has no key to check and sign it with.
        """
        if self.research is None:
            raise ConfigError("this process has no key for reports", hint="see docs/research.md")
        return await download(
            values,
            kind,
            store=OwnedStore(services.store, owner),
            thread_id=str(thread_id),
            config=self.research,
        )

    async def snapshot(
        self, services: Services, thread_id: UUID, snapshot_id: str, *, owner: Owner
    ) -> Snapshot:
        """A source of the thread.

        Raises:
            UnknownSnapshot: It has no such source.
        """
        return await StoredSnapshots(OwnedStore(services.store, owner), str(thread_id)).get(
            snapshot_id
        )


def question_of(body: ResearchCreate) -> dict[str, Any]:
    """The input of a run."""
    asked: dict[str, Any] = {
        "user_query": body.query,
        "knowledge_context": body.retrieved_context,
        "context_urls": body.context_urls,
    }
    if body.max_plan_revisions is not None:
        asked["max_plan_revisions"] = body.max_plan_revisions
    return asked


async def answer_of(
    services: Services, body: ResearchApprove, *, owner: Owner, graph: str
) -> dict[str, Any]:
    """The person's word, for the plan that waits.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        AnswerRefused: No plan waits.
    """
    await services.threads.get(body.thread_id, owner=owner)
    pending = await services.answers.pending(body.thread_id, graph=graph)
    waiting = [
        question.id
        for question in pending.values()
        if isinstance(question.value, Mapping) and question.value.get("type") == TYPE
    ]
    if not waiting:
        raise AnswerRefused("no plan waits for approval", hint="it was answered, or there is none")
    return {waiting[0]: _word(body)}


def _word(body: ResearchApprove) -> dict[str, Any]:
    if body.action == "edit":
        if body.plan is None:
            raise InvalidRequest("an edit needs the plan as edited")
        return {"type": "edit", "plan": snake(body.plan)}
    if body.action == "reject":
        return {"type": "reject", "reason": body.reason or ""}
    return {"type": "approve", "plan_hash": body.plan_hash}
