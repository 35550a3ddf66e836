"""A finished report as a file: to read, to hand in, or, as a proof, to check.

Only what a run of this deployment wrote is handed out: a thread's owner can change its state, so
the seal under it is checked first, and the sources against their hashes.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from langgraph.store.base import BaseStore

from bathysphere.agents.research.agent import ResearchConfig, sealer_of
from bathysphere.agents.research.keeping import StoredSnapshots, snapshots_of
from bathysphere.agents.research.parts import read_plan
from bathysphere.agents.research.sealing import contents_of
from bathysphere.core.errors import CallerError, NotAllowed
from bathysphere.evidence.proof.export import export_proof
from bathysphere.evidence.proof.signing import Signer
from bathysphere.evidence.render.docx import to_docx
from bathysphere.evidence.render.html import to_html
from bathysphere.evidence.render.markdown import to_markdown
from bathysphere.evidence.report import Report
from bathysphere.evidence.snapshots import Snapshot

Format = Literal["md", "html", "docx", "pdf", "zip", "json"]
FORMATS: tuple[str, ...] = get_args(Format)
NAME = "report"
PROOF = "application/zip"


class ReportNotFound(CallerError):
    """The thread has no finished report."""

    code = "report_not_found"


class ReportChanged(NotAllowed):
    """The report in the state is not the one that the run wrote."""

    code = "report_changed"


class Download(NamedTuple):
    """A file to hand out."""

    name: str
    media_type: str
    body: bytes


def _pdf(report: Report) -> bytes:
    from bathysphere.evidence.render.pdf import to_pdf  # the fonts and the library are an extra

    return to_pdf(report)


_WRITERS: dict[str, tuple[str, Callable[[Report], bytes]]] = {
    "md": ("text/markdown; charset=utf-8", lambda report: to_markdown(report).encode()),
    "html": ("text/html; charset=utf-8", lambda report: to_html(report).encode()),
    "docx": (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        to_docx,
    ),
    "pdf": ("application/pdf", _pdf),
    "json": ("application/json", lambda report: report.model_dump_json().encode()),
}


async def download(
    state: Mapping[str, Any],
    kind: str,
    *,
    store: BaseStore,
    thread_id: str,
    config: ResearchConfig,
) -> Download:
    """The report of a thread as a file; `zip` is the proof.

    Raises:
        ReportNotFound: There is no finished report.
        ReportChanged: It is not what the run wrote.
    """
    if not state.get("report"):
        raise ReportNotFound("this thread has no finished report", hint="finish the research first")
    known = {**state, "thread_id": thread_id}
    if not sealer_of(config).is_sealed(contents_of(known), state.get("seal")):
        raise ReportChanged("this report is not as the run wrote it", hint="run it again")
    report = Report.model_validate(state["report"])
    if kind == "zip":
        kept = StoredSnapshots(store, thread_id)
        snapshots = await snapshots_of(kept, state.get("sources") or [])
        body = await asyncio.to_thread(_proof, known, report, snapshots, config)
        return Download(f"{NAME}.zip", PROOF, body)
    media_type, write = _WRITERS[kind]
    return Download(f"{NAME}.{kind}", media_type, await asyncio.to_thread(write, report))


def _proof(
    state: Mapping[str, Any],
    report: Report,
    snapshots: Mapping[str, Snapshot],
    config: ResearchConfig,
) -> bytes:
    plan = read_plan(state["approved_plan"])
    return export_proof(
        report,
        snapshots.values(),
        plan=plan.plain(),
        audits=_audits(state["audits"], plan.sha256),
        approvals=state["approvals"],
        signer=Signer(config.key),
        created_at=datetime.fromisoformat(state["finished_at"]),
    )


def _audits(audits: Sequence[Mapping[str, Any]], plan_hash: str) -> list[Mapping[str, Any]]:
    """Every audit of the run; the one of the plan that ran comes last."""
    own = [one for one in audits if one["plan_sha256"] == plan_hash]
    return [*(one for one in audits if one["plan_sha256"] != plan_hash), *own]
