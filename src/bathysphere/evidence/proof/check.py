"""Verification of a proof, without network, server or LLM.

The browser's verifier performs the same checks in the same order.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from bathysphere.core.canonical import canonical, from_canonical, sha256
from bathysphere.core.errors import CallerError
from bathysphere.evidence.archive import read_archive
from bathysphere.evidence.proof.export import DOMAIN, FORMAT
from bathysphere.evidence.proof.signing import fingerprint, is_signed
from bathysphere.evidence.quotes import Quote, stands
from bathysphere.evidence.render.markdown import to_markdown
from bathysphere.evidence.report import Report
from bathysphere.evidence.settle import tally
from bathysphere.evidence.snapshots import Sha256, Snapshot, SnapshotInfo

T = TypeVar("T")

CheckName = Literal[
    "archive",
    "manifest",
    "signature",
    "snapshots",
    "quotes",
    "report",
    "markdown",
    "plan",
    "places",
]
MEANING: dict[CheckName, str] = {
    "archive": "the file is a canonical archive",
    "manifest": "every file is present and unchanged",
    "signature": "the signature matches the manifest and the key",
    "snapshots": "each source matches its hashes",
    "quotes": "each quote is in its source, byte for byte",
    "report": "each supported claim has its quotes, each source is present, the counts are correct",
    "markdown": "the readable report matches the checked one",
    "plan": "the plan that ran is the one that was audited and approved",
    "places": "each page is from a site named in the approved plan",
}


class BadProof(CallerError):
    """A check failed."""

    code = "bad_proof"


class Check(BaseModel):
    """One check: passed, failed, or skipped because an earlier one failed."""

    model_config = ConfigDict(frozen=True)

    name: CheckName
    state: Literal["passed", "failed", "not_made"]
    detail: str


class Verification(BaseModel):
    """The result of verifying a proof."""

    model_config = ConfigDict(frozen=True)

    ok: bool
    is_proof: bool
    """Whether the file is a proof at all, valid or not."""
    checks: tuple[Check, ...]
    public_key: str | None = None
    fingerprint: str | None = None
    created_at: str | None = None
    title: str | None = None
    claims: int = 0
    unsupported: int = 0
    quotes: int = 0
    sources: int = 0


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Entry(_Strict):
    path: str
    bytes: int = Field(ge=0)
    sha256: Sha256


class _Manifest(_Strict):
    format: Literal["bathysphere-proof/2"]
    created_at: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    plan_sha256: Sha256
    public_key: Sha256
    files: list[_Entry]


class _Signature(_Strict):
    algorithm: Literal["Ed25519"]
    public_key: str
    signature: str


def looks_like_proof(data: bytes) -> bool:
    """Whether bytes are a zip file whose first entry is a manifest, as in every proof."""
    return data.startswith(b"PK\3\4") and data[30:43] == b"manifest.json"


def verify_proof(data: bytes, *, expected_key: str | None = None) -> Verification:
    """Check every part of a proof.

    Args:
        data: The bytes of the file.
        expected_key: The public key it must be signed with, in hex. Without it any key is accepted,
            and the reader has to find out whose it is.
    """
    case = _Case(data, expected_key)
    checks: list[Check] = []
    for name, check in _CHECKS.items():
        if checks and checks[-1].state != "passed":
            checks.append(Check(name=name, state="not_made", detail=MEANING[name]))
            continue
        try:
            check(case)
        except (CallerError, ValidationError, UnicodeDecodeError) as error:
            checks.append(Check(name=name, state="failed", detail=_in_words(error)))
        else:
            checks.append(Check(name=name, state="passed", detail=MEANING[name]))
    return case.result(checks)


@dataclass
class _Case:
    """The parts of a proof that have been read so far."""

    data: bytes
    expected_key: str | None
    files: dict[str, bytes] = field(default_factory=dict)
    manifest: _Manifest | None = None
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    quotes: list[Quote] = field(default_factory=list)
    report: Report | None = None

    def json(self, path: str) -> Any:
        """Parse a file's canonical JSON."""
        if path not in self.files:
            raise BadProof(f"{path} is missing")
        return from_canonical(self.files[path])

    def result(self, checks: list[Check]) -> Verification:
        """Build the result, with what is known of the report."""
        key = self.manifest.public_key if self.manifest else None
        report = self.report
        return Verification(
            ok=all(check.state == "passed" for check in checks),
            is_proof=looks_like_proof(self.data),
            checks=tuple(checks),
            public_key=key,
            fingerprint=fingerprint(key) if key else None,
            created_at=self.manifest.created_at if self.manifest else None,
            title=report.title if report else None,
            claims=report.tally.claims if report else 0,
            unsupported=report.tally.unsupported if report else 0,
            quotes=len(self.quotes),
            sources=len(report.sources) if report else 0,
        )


def _archive(case: _Case) -> None:
    case.files = dict(read_archive(case.data))
    if list(case.files)[:2] != ["manifest.json", "signature.json"]:
        raise BadProof("The archive is not a proof")


def _manifest(case: _Case) -> None:
    raw = case.json("manifest.json")
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BadProof(f"Not a {FORMAT} file")
    case.manifest = _Manifest.model_validate(raw)
    entries = case.manifest.files
    if [entry.path for entry in entries] != list(case.files)[2:]:
        raise BadProof("The files do not match the manifest")
    for entry in entries:
        body = case.files[entry.path]
        if len(body) != entry.bytes or sha256(body) != entry.sha256:
            raise BadProof(f"{entry.path} does not match the manifest")


def _signature(case: _Case) -> None:
    signed = _Signature.model_validate(case.json("signature.json"))
    manifest = _there(case.manifest)
    if signed.public_key != manifest.public_key:
        raise BadProof("The signature and the manifest name different keys")
    if not is_signed(DOMAIN + case.files["manifest.json"], signed.public_key, signed.signature):
        raise BadProof("The signature is invalid")
    if case.expected_key is not None and case.expected_key.strip().lower() != signed.public_key:
        raise BadProof("Signed with a different key than expected")


def _snapshots(case: _Case) -> None:
    rest = list(case.files)[2 + len(_FRONT) :]
    if list(case.files)[2 : 2 + len(_FRONT)] != list(_FRONT):
        raise BadProof("A part of the report is missing")
    ids = [path.removeprefix("snapshots/").removesuffix(".json") for path in rest[::3]]
    wanted = [f"snapshots/{key}.{end}" for key in sorted(ids) for end in ("json", "txt", "body")]
    if rest != wanted or len(set(ids)) != len(ids):
        raise BadProof("The snapshots are not in order")
    for key in ids:
        info = SnapshotInfo.model_validate(case.json(f"snapshots/{key}.json"), strict=True)
        _is_whole(info.model_dump(mode="json"), case.files[f"snapshots/{key}.json"])
        text = case.files[f"snapshots/{key}.txt"].decode("utf-8")
        snapshot = Snapshot(info, case.files[f"snapshots/{key}.body"], text)
        snapshot.check()
        if info.id != key:
            raise BadProof(f"Snapshot {key} has a different id")
        case.snapshots[key] = snapshot


def _quotes(case: _Case) -> None:
    case.quotes = TypeAdapter(list[Quote]).validate_python(case.json("quotes.json"), strict=True)
    _is_whole([quote.model_dump(mode="json") for quote in case.quotes], case.files["quotes.json"])
    ids = [quote.id for quote in case.quotes]
    if len(set(ids)) != len(ids):
        raise BadProof("Duplicate quote")
    for quote in case.quotes:
        if not stands(quote, case.snapshots):
            raise BadProof(f"Quote {quote.id} is not in its source")


def _report(case: _Case) -> None:
    raw = case.json("report.json")
    if not isinstance(raw, dict) or "quotes" in raw:
        raise BadProof("The report has an unexpected form")
    quotes = [quote.model_dump(mode="json") for quote in case.quotes]
    report = Report.model_validate_json(canonical(raw | {"quotes": quotes}), strict=True)
    _is_whole(report.model_dump(mode="json", exclude={"quotes"}), case.files["report.json"])
    for problem in _problems(report, case.snapshots):
        raise BadProof(problem)
    case.report = report


def _problems(report: Report, snapshots: Mapping[str, Snapshot]) -> Iterator[str]:
    known = {quote.id for quote in report.quotes}
    claims = [claim for section in report.sections for claim in section.claims]
    if [claim.id for claim in claims] != [f"c{n}" for n in range(1, len(claims) + 1)]:
        yield "The claims are not numbered in order"
    used = {quote for claim in claims for quote in claim.quotes}
    used |= {side.quote for found in report.contradictions for side in found.sides}
    if used != known:
        yield "The quotes are not those used in the report"
    for section in report.sections:
        for claim in section.claims:
            if section.kind == "findings" and claim.status != "unsupported" and not claim.quotes:
                yield f"Claim {claim.id} is marked as supported but has no quote"
    yield from _source_problems(report, snapshots)
    counted = tally(
        report.sections,
        report.dropped,
        report.quotes,
        report.tally.quotes_refused,
        len(report.sources),
        report.contradictions,
    )
    if counted != report.tally:
        yield "The counts are wrong"


def _source_problems(report: Report, snapshots: Mapping[str, Snapshot]) -> Iterator[str]:
    if [s.number for s in report.sources] != list(range(1, len(report.sources) + 1)):
        yield "The sources are not numbered in order"
    for source in report.sources:
        snapshot = snapshots.get(source.snapshot.id)
        if snapshot is None or snapshot.info != source.snapshot:
            yield f"Source {source.number} does not match its snapshot"
    listed = {source.snapshot.id for source in report.sources}
    if listed != {quote.snapshot for quote in report.quotes}:
        yield "The sources are not those that are quoted"
    by_id = {quote.id: quote.snapshot for quote in report.quotes}
    for found in report.contradictions:
        if any(by_id.get(side.quote) != side.snapshot for side in found.sides):
            yield "A contradiction names a different source than its quote"


def _markdown(case: _Case) -> None:
    if case.files["report.md"] != to_markdown(_there(case.report)).encode("utf-8"):
        raise BadProof("report.md does not match report.json")


def _plan(case: _Case) -> None:
    case.json("plan.json")
    sha = sha256(case.files["plan.json"])
    if sha != _there(case.manifest).plan_sha256:
        raise BadProof("The plan does not match the manifest")
    audit = _last(case.json("audits.json"), "audit")
    if audit.get("plan_sha256") != sha or audit.get("verdict") != "approved":
        raise BadProof("The last audit did not approve this plan")
    approval = _last(case.json("approvals.json"), "approval")
    if approval.get("plan_sha256") != sha or approval.get("decision") != "approve":
        raise BadProof("The last decision did not approve this plan")


def _places(case: _Case) -> None:
    plan = case.json("plan.json")
    steps = plan.get("steps") if isinstance(plan, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise BadProof("The plan has no steps")
    named = {domain for step in steps for domain in step.get("domains") or []}
    for step in steps:
        if step.get("tool") == "fetch_page":
            named.add(_host(str(step.get("input", ""))).removeprefix("www."))
    for snapshot in case.snapshots.values():
        host = _host(snapshot.info.final_url)
        if snapshot.info.origin == "web" and not _is_named(host, named):
            raise BadProof(f"The plan does not name {host}")


def _is_named(host: str, named: set[str]) -> bool:
    names = (name for name in named if name)
    return any(name == "*" or host == name or host.endswith(f".{name}") for name in names)


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _last(entries: Any, what: str) -> dict[str, Any]:
    if not isinstance(entries, list) or not entries or not isinstance(entries[-1], dict):
        raise BadProof(f"Missing {what}")
    return entries[-1]


def _there(value: T | None) -> T:
    if value is None:
        raise BadProof("A part is missing")
    return value


def _is_whole(value: Any, data: bytes) -> None:
    """Compare with the canonical form: a missing field would get its default when parsed."""
    if canonical(value) != data:
        raise BadProof("A field is missing")


def _in_words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return error.message if isinstance(error, CallerError) else str(error)


_FRONT = (
    "report.md",
    "report.json",
    "quotes.json",
    "plan.json",
    "audits.json",
    "approvals.json",
)
_CHECKS: dict[CheckName, Callable[[_Case], None]] = {
    "archive": _archive,
    "manifest": _manifest,
    "signature": _signature,
    "snapshots": _snapshots,
    "quotes": _quotes,
    "report": _report,
    "markdown": _markdown,
    "plan": _plan,
    "places": _places,
}
