"""The finished reports of a research thread, kept outside its state.

The state has the newest report only, and a new question resets it. Every report is also kept in the
thread's reserved namespace of the store, which the HTTP API cannot reach and which is deleted with
the thread. A record has all that its export needs; its seal is verified on every read.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore

from bathysphere.agents.research.plan_seal import ASKED, REPORT, Sealer
from bathysphere.core.canonical import digest
from bathysphere.core.errors import CallerError, NotAllowed
from bathysphere.core.writers import thread_namespace

REPORTS = ("research", "reports")
KEPT = (*dict.fromkeys((*REPORT, *ASKED)), "step_results", "seal")
"""State fields of a record: the contents of a proof, and what an extension starts from."""
_PAGE = 50


class ReportNotFound(CallerError):
    """The thread has no finished report, or none with this id."""

    code = "report_not_found"


class ReportChanged(NotAllowed):
    """The report was modified after the run."""

    code = "report_changed"


class StoredReport(NamedTuple):
    """A report of a thread."""

    id: str
    values: Mapping[str, Any]
    """The state fields of the run that wrote it."""

    def summary(self, number: int) -> dict[str, Any]:
        """The report's entry in a list."""
        tally = self.values["report"]["tally"]
        return {
            "id": self.id,
            "number": number,
            "question": self.values["user_query"],
            "finished_at": self.values["finished_at"],
            "claims": tally["claims"],
            "sources": tally["sources"],
        }


class StoredReports:
    """The reports of one thread in a LangGraph store."""

    def __init__(self, store: BaseStore, thread_id: str, sealer: Sealer) -> None:
        self._store = store
        self._thread = thread_id
        self._sealer = sealer
        self._space = (*thread_namespace(thread_id), *REPORTS)

    async def put(self, state: Mapping[str, Any]) -> str:
        """Keep the report of a finished run; a repeated run of the node replaces its own."""
        report_id = digest([self._thread, state.get("grant")])[:24]
        values = {name: state.get(name) for name in KEPT}
        value = {"values": values, "seal": self._sealer.seal(self._sealed(report_id, values))}
        await self._store.aput(self._space, report_id, value, index=False)
        return report_id

    async def get(self, report_id: str) -> StoredReport:
        """Load a report and verify it.

        Raises:
            ReportNotFound: The thread has no such report.
            ReportChanged: It was modified.
        """
        item = await self._store.aget(self._space, report_id)
        if item is None:
            raise ReportNotFound(f"Unknown report: {report_id}", hint="list the thread's reports")
        return self._read(report_id, item.value)

    async def read_all(self) -> list[StoredReport]:
        """All reports, oldest first.

        Raises:
            ReportChanged: One was modified.
        """
        found: list[Any] = []
        while page := await self._store.asearch(self._space, limit=_PAGE, offset=len(found)):
            found += page
        found.sort(key=lambda item: item.created_at)
        return [self._read(item.key, item.value) for item in found]

    def _read(self, report_id: str, value: Mapping[str, Any]) -> StoredReport:
        values: Any = value.get("values")
        if not self._sealer.is_sealed(self._sealed(report_id, values), value.get("seal")):
            raise ReportChanged(f"The report was modified after the run: {report_id}")
        return StoredReport(report_id, values)

    def _sealed(self, report_id: str, values: Any) -> dict[str, Any]:
        return {"of": "stored report", "thread": self._thread, "id": report_id, "values": values}
