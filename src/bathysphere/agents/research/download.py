"""Export a finished report as a document or a verifiable proof.

Only reports written by this deployment are exported: a thread's owner can change its state, so the
seal is checked first, and the sources against their hashes.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from langgraph.store.base import BaseStore

from bathysphere.agents.research.agent import ResearchConfig, sealer_of
from bathysphere.agents.research.plan_seal import check_permit, report_of
from bathysphere.agents.research.plan_state import read_plan
from bathysphere.agents.research.report_store import ReportChanged, ReportNotFound
from bathysphere.agents.research.snapshot_store import StoredSnapshots, snapshots_of
from bathysphere.evidence.file_name import file_stem
from bathysphere.evidence.proof.export import export_proof
from bathysphere.evidence.proof.signing import Signer
from bathysphere.evidence.render.docx import to_docx
from bathysphere.evidence.render.html import to_html
from bathysphere.evidence.render.markdown import to_markdown
from bathysphere.evidence.report import Report
from bathysphere.evidence.snapshots import Snapshot

Format = Literal["md", "html", "docx", "pdf", "zip", "json"]
FORMATS: tuple[str, ...] = get_args(Format)
PROOF = "application/zip"


class Download(NamedTuple):
    """A file to download."""

    name: str
    media_type: str
    body: bytes


def _pdf(report: Report) -> bytes:
    from bathysphere.evidence.render.pdf import to_pdf  # needs an optional extra

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
    """Export the report of a thread; `zip` is the proof.

    Raises:
        ReportNotFound: The thread has no finished report.
        ReportChanged: The report was modified.
    """
    if not state.get("report"):
        raise ReportNotFound("Thread has no finished report", hint="finish the research first")
    sealer = sealer_of(config)
    if not sealer.is_sealed(report_of(state, thread_id), state.get("seal")):
        raise ReportChanged("The report was modified after the run", hint="run the research again")
    check_permit(sealer, state, thread_id)
    report = Report.model_validate(state["report"])
    if kind == "zip":
        stored = StoredSnapshots(store, thread_id, sealer)
        snapshots = await snapshots_of(stored, state.get("sources") or [])
        body = await asyncio.to_thread(_proof, state, report, snapshots, config)
        return Download(f"{file_stem(report.question)}.zip", PROOF, body)
    media_type, write = _WRITERS[kind]
    name = f"{file_stem(report.question)}.{kind}"
    return Download(name, media_type, await asyncio.to_thread(write, report))


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
    """All audits of the run; those of the executed plan come last."""
    executed = [one for one in audits if one["plan_sha256"] == plan_hash]
    return [*(one for one in audits if one["plan_sha256"] != plan_hash), *executed]
