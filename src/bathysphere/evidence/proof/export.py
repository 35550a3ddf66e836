"""Export of a report with all its evidence as one signed file."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bathysphere.core.canonical import canonical, digest, sha256
from bathysphere.core.errors import CallerError
from bathysphere.evidence.archive import build_archive
from bathysphere.evidence.proof.signing import Signer
from bathysphere.evidence.quotes import stands
from bathysphere.evidence.render.markdown import to_markdown
from bathysphere.evidence.report import Report
from bathysphere.evidence.snapshots import Snapshot, by_id

FORMAT = "bathysphere-proof/2"
DOMAIN = b"bathysphere-proof/2\n"
"""Prefix of the signed bytes, so that a signature is not valid in another context."""


class UnprovenReport(CallerError):
    """A report with unverified quotes cannot be exported as a proof."""

    code = "unproven_report"


def export_proof(
    report: Report,
    snapshots: Iterable[Snapshot],
    *,
    plan: Mapping[str, Any],
    audits: Sequence[Mapping[str, Any]],
    approvals: Sequence[Mapping[str, Any]],
    signer: Signer,
    created_at: datetime,
) -> bytes:
    """Export the proof of a report as a zip file. The same input gives the same bytes.

    Args:
        report: The checked report.
        snapshots: The sources read; must include those that the report cites. All are included.
        plan: The approved plan, as JSON data (`Plan.plain()`).
        audits: The verdicts in order (`Verdict.plain()`); the last is of this plan.
        approvals: The decisions in order (`Approval.plain()`); the last approves this plan.
        signer: Signs the proof.
        created_at: The time of the export.

    Raises:
        UnprovenReport: A quote is not in its snapshot.
    """
    read = by_id(snapshots)
    if missing := [quote.id for quote in report.quotes if not stands(quote, read)]:
        raise UnprovenReport(f"Quotes not found in their sources: {', '.join(missing)}")
    body = report.model_dump(mode="json")
    quotes = body.pop("quotes")
    files = {
        "report.md": to_markdown(report).encode("utf-8"),
        "report.json": canonical(body),
        "quotes.json": canonical(quotes),
        "plan.json": canonical(dict(plan)),
        "audits.json": canonical([dict(audit) for audit in audits]),
        "approvals.json": canonical([dict(approval) for approval in approvals]),
    }
    for key in sorted(read):
        snapshot = read[key]
        files[f"snapshots/{key}.json"] = canonical(snapshot.info.model_dump(mode="json"))
        files[f"snapshots/{key}.txt"] = snapshot.text_bytes
        files[f"snapshots/{key}.body"] = snapshot.body
    manifest = canonical(
        {
            "format": FORMAT,
            "created_at": created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "plan_sha256": digest(dict(plan)),
            "public_key": signer.public_key,
            "files": [
                {"path": path, "bytes": len(data), "sha256": sha256(data)}
                for path, data in files.items()
            ],
        }
    )
    signature = canonical(
        {
            "algorithm": "Ed25519",
            "public_key": signer.public_key,
            "signature": signer.sign(DOMAIN + manifest),
        }
    )
    front = [("manifest.json", manifest), ("signature.json", signature)]
    return build_archive([*front, *files.items()])
