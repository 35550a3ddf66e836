"""Research in an API process: inputs, plan decisions, reports and sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.download import Download, Format, download
from bathysphere.agents.research.report_store import StoredReports
from bathysphere.agents.research.snapshot_store import StoredSnapshots
from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.errors import AnswerRefused
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.models.settings import ModelSettings
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.models.loading import ModelLoading
from bathysphere.server.process.services import Services
from bathysphere.server.research.schemas import ResearchApprove, ResearchCreate
from bathysphere.server.research.wire import snake

TYPE = "plan_approval"
NO_KEY = "No signing key for reports is configured"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchService:
    """The dependencies of the research routes other than the engine."""

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
        """Render a finished report as a file.

        Raises:
            ReportNotFound: The thread has no report.
            ConfigError: No signing key is configured.
        """
        if self.research is None:
            raise ConfigError(NO_KEY, hint="see docs/research.md")
        return await download(
            values,
            kind,
            store=OwnedStore(services.store, owner),
            thread_id=str(thread_id),
            config=self.research,
        )

    async def reports(
        self, services: Services, thread_id: UUID, *, owner: Owner
    ) -> list[dict[str, Any]]:
        """List the reports of a thread, oldest first.

        Raises:
            ReportChanged: One was modified after its run.
            ConfigError: No signing key is configured.
        """
        found = await self._stored_reports(services, thread_id, owner).read_all()
        return [one.summary(number) for number, one in enumerate(found, 1)]

    async def report_values(
        self,
        services: Services,
        thread_id: UUID,
        values: Mapping[str, Any],
        report_id: str | None,
        *,
        owner: Owner,
    ) -> Mapping[str, Any]:
        """The state of the run that wrote a report: the chosen one, or the newest.

        Raises:
            ReportNotFound: The thread has no report with this id.
            ReportChanged: It was modified after its run.
            ConfigError: No signing key is configured.
        """
        stored = self._stored_reports(services, thread_id, owner)
        if report_id is not None:
            return (await stored.get(report_id)).values
        # A later question resets the state's report.
        if values.get("report") or not (found := await stored.read_all()):
            return values
        return found[-1].values

    def _stored_reports(self, services: Services, thread_id: UUID, owner: Owner) -> StoredReports:
        if self.research is None:
            raise ConfigError(NO_KEY, hint="see docs/research.md")
        store = OwnedStore(services.store, owner)
        return StoredReports(store, str(thread_id), sealer_of(self.research))

    async def snapshot(
        self, services: Services, thread_id: UUID, snapshot_id: str, *, owner: Owner
    ) -> Snapshot:
        """Return a source of the thread.

        Raises:
            UnknownSnapshot: The thread has no such source.
            ConfigError: No signing key is configured.
        """
        if self.research is None:
            raise ConfigError(NO_KEY, hint="see docs/research.md")
        store = OwnedStore(services.store, owner)
        return await StoredSnapshots(store, str(thread_id), sealer_of(self.research)).get(
            snapshot_id
        )


def question_of(body: ResearchCreate) -> dict[str, Any]:
    """Build the input of a research run."""
    values: dict[str, Any] = {
        "user_query": body.query,
        "documents": [one.model_dump() for one in body.documents],
        "knowledge_context": body.retrieved_context,
        "context_urls": body.context_urls,
    }
    if body.max_plan_revisions is not None:
        values["max_plan_revisions"] = body.max_plan_revisions
    return values


async def answer_of(
    services: Services, body: ResearchApprove, *, owner: Owner, graph: str
) -> dict[str, Any]:
    """Build the answer to the pending plan.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        AnswerRefused: No plan is pending.
    """
    await services.threads.get(body.thread_id, owner=owner)
    pending = await services.answers.pending(body.thread_id, owner=owner, graph=graph)
    waiting = [
        question.id
        for question in pending.values()
        if isinstance(question.value, Mapping) and question.value.get("type") == TYPE
    ]
    if not waiting:
        raise AnswerRefused(
            "No plan is awaiting approval", hint="it was already answered, or there is none yet"
        )
    return {waiting[0]: _decision(body)}


def _decision(body: ResearchApprove) -> dict[str, Any]:
    if body.action == "edit":
        if body.plan is None:
            raise InvalidRequest("Missing `plan`: an edit needs the edited plan")
        return {"type": "edit", "plan": snake(body.plan)}
    if body.action == "reject":
        return {"type": "reject", "reason": body.reason or ""}
    return {"type": "approve", "plan_hash": body.plan_hash}
