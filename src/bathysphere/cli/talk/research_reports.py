"""The reports of a research session: listed, picked by number, and written to disk."""

from dataclasses import dataclass
from pathlib import Path

from langgraph.store.base import BaseStore

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.download import FORMATS, download
from bathysphere.agents.research.report_store import ReportNotFound, StoredReport, StoredReports
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.errors import CallerError
from bathysphere.core.words import count


def check_output_path(path: Path | None) -> None:
    """Reject an unusable output path before any work is done.

    Raises:
        CallerError: The extension is unknown, or the folder does not exist.
    """
    if path is None:
        return
    if path.suffix.removeprefix(".") not in FORMATS:
        raise CallerError(
            f"Unsupported report format: {path.name}",
            hint=f"use one of {', '.join(f'.{name}' for name in FORMATS)}",
        )
    if not path.absolute().parent.is_dir():
        raise CallerError(f"Folder not found: {path.parent}", hint="create it first")


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionReports:
    """The reports of the session's thread."""

    screen: Screen
    store: BaseStore
    thread: str
    research: ResearchConfig

    async def show(self) -> None:
        """List the reports with their numbers."""
        for number, report in enumerate(await self._all(), 1):
            about = report.summary(number)
            sources = count(about["sources"], "source")
            self.screen.note(f"  {number}. {safe(about['question'])} ({sources})")

    async def file(self, path: Path, number: int | None) -> bytes:
        """Export a report by its number, or the newest.

        Raises:
            CallerError: There is no such report, or the path is unusable.
        """
        check_output_path(path)
        report = self._pick(await self._all(), number)
        kind = path.suffix.removeprefix(".")
        made = await download(
            report.values, kind, store=self.store, thread_id=self.thread, config=self.research
        )
        return made.body

    def _pick(self, reports: list[StoredReport], number: int | None) -> StoredReport:
        if not reports:
            raise ReportNotFound("There is no finished report", hint="finish the research first")
        if number is None:
            return reports[-1]
        if not 1 <= number <= len(reports):
            raise ReportNotFound(
                f"Unknown report: {number}", hint=f"choose a number from 1 to {len(reports)}"
            )
        return reports[number - 1]

    async def _all(self) -> list[StoredReport]:
        return await StoredReports(self.store, self.thread, sealer_of(self.research)).read_all()
