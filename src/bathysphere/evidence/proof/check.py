"""Check a proof: no network, no server, no LLM. Each check says what it found.

The browser's verifier makes the same checks in the same order.
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
    "archive": "the file has exactly our form",
    "manifest": "every file is there, whole and unchanged",
    "signature": "the signature fits the manifest and the key",
    "snapshots": "each source is what its hashes say",
    "quotes": "each quote stands in its source, byte for byte",
    "report": "each supported claim has its quotes, each source is there, the figures add up",
    "markdown": "the readable report says what the checked one says",
    "plan": "the plan that ran is the one that was audited and approved",
    "places": "each page is from a site that the approved plan names",
}


class BadProof(CallerError):
    """What a check found wrong."""

    code = "bad_proof"


class Check(BaseModel):
    """One check: passed, failed, or not made because one before it failed."""

    model_config = ConfigDict(frozen=True)

    name: CheckName
    state: Literal["passed", "failed", "not_made"]
    detail: str


class Verification(BaseModel):
    """What came out of checking a proof."""

    model_config = ConfigDict(frozen=True)

    ok: bool
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
    format: Literal["bathysphere-proof/1"]
    created_at: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    plan_sha256: Sha256
    public_key: Sha256
    files: list[_Entry]


class _Signature(_Strict):
    algorithm: Literal["Ed25519"]
    public_key: str
    signature: str


def verify_proof(data: bytes, *, expected_key: str | None = None) -> Verification:
    """Check every part of a proof.

    Args:
        data: The bytes of the file.
        expected_key: The public key it must be signed by, in hex; without it, any key will do, and
            whose key it is remains for the reader to find out.
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
    """A proof as far as it has been read."""

    data: bytes
    expected_key: str | None
    files: dict[str, bytes] = field(default_factory=dict)
    manifest: _Manifest | None = None
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    quotes: list[Quote] = field(default_factory=list)
    report: Report | None = None

    def json(self, path: str) -> Any:
        """A file's JSON, in its one form."""
        if path not in self.files:
            raise BadProof(f"{path} is missing")
        return from_canonical(self.files[path])

    def result(self, checks: list[Check]) -> Verification:
        """What came out, with what is known of the report."""
        key = self.manifest.public_key if self.manifest else None
        report = self.report
        return Verification(
            ok=all(check.state == "passed" for check in checks),
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
        raise BadProof("this archive is no proof")


def _manifest(case: _Case) -> None:
    raw = case.json("manifest.json")
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BadProof(f"this is no {FORMAT}")
    case.manifest = _Manifest.model_validate(raw)
    entries = case.manifest.files
    if [entry.path for entry in entries] != list(case.files)[2:]:
        raise BadProof("the files are not those of the manifest")
    for entry in entries:
        body = case.files[entry.path]
        if len(body) != entry.bytes or sha256(body) != entry.sha256:
            raise BadProof(f"{entry.path} is not what the manifest says")


def _signature(case: _Case) -> None:
    signed = _Signature.model_validate(case.json("signature.json"))
    manifest = _there(case.manifest)
    if signed.public_key != manifest.public_key:
        raise BadProof("the signature names another key than the manifest")
    if not is_signed(DOMAIN + case.files["manifest.json"], signed.public_key, signed.signature):
        raise BadProof("the signature does not fit")
    if case.expected_key is not None and case.expected_key.strip().lower() != signed.public_key:
        raise BadProof("it is signed by another key than the expected one")


def _snapshots(case: _Case) -> None:
    rest = list(case.files)[2 + len(_FRONT) :]
    if list(case.files)[2 : 2 + len(_FRONT)] != list(_FRONT):
        raise BadProof("a part of the report is missing")
    ids = [path.removeprefix("snapshots/").removesuffix(".json") for path in rest[::3]]
    wanted = [f"snapshots/{key}.{end}" for key in sorted(ids) for end in ("json", "txt", "body")]
    if rest != wanted or len(set(ids)) != len(ids):
        raise BadProof("the snapshots are not in order")
    for key in ids:
        info = SnapshotInfo.model_validate(case.json(f"snapshots/{key}.json"), strict=True)
        _is_whole(info.model_dump(mode="json"), case.files[f"snapshots/{key}.json"])
        text = case.files[f"snapshots/{key}.txt"].decode("utf-8")
        snapshot = Snapshot(info, case.files[f"snapshots/{key}.body"], text)
        snapshot.check()
        if info.id != key:
            raise BadProof(f"snapshot {key} has another id")
        case.snapshots[key] = snapshot


def _quotes(case: _Case) -> None:
    case.quotes = TypeAdapter(list[Quote]).validate_python(case.json("quotes.json"), strict=True)
    _is_whole([quote.model_dump(mode="json") for quote in case.quotes], case.files["quotes.json"])
    ids = [quote.id for quote in case.quotes]
    if len(set(ids)) != len(ids):
        raise BadProof("a quote is there twice")
    for quote in case.quotes:
        if not stands(quote, case.snapshots):
            raise BadProof(f"quote {quote.id} does not stand in its source")


def _report(case: _Case) -> None:
    raw = case.json("report.json")
    if not isinstance(raw, dict) or "quotes" in raw:
        raise BadProof("the report has another form")
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
        yield "the claims are not numbered in order"
    used = {quote for claim in claims for quote in claim.quotes}
    used |= {side.quote for found in report.contradictions for side in found.sides}
    if used != known:
        yield "the quotes are not those that the report uses"
    for section in report.sections:
        for claim in section.claims:
            if section.kind == "findings" and claim.status != "unsupported" and not claim.quotes:
                yield f"claim {claim.id} is said to be supported and has no quote"
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
        yield "the figures do not add up"


def _source_problems(report: Report, snapshots: Mapping[str, Snapshot]) -> Iterator[str]:
    if [s.number for s in report.sources] != list(range(1, len(report.sources) + 1)):
        yield "the sources are not numbered in order"
    for source in report.sources:
        snapshot = snapshots.get(source.snapshot.id)
        if snapshot is None or snapshot.info != source.snapshot:
            yield f"source {source.number} is not the one that was read"
    listed = {source.snapshot.id for source in report.sources}
    if listed != {quote.snapshot for quote in report.quotes}:
        yield "the sources are not those that are quoted"
    by_id = {quote.id: quote.snapshot for quote in report.quotes}
    for found in report.contradictions:
        if any(by_id.get(side.quote) != side.snapshot for side in found.sides):
            yield "a disagreement names another source than its quote"


def _markdown(case: _Case) -> None:
    if case.files["report.md"] != to_markdown(_there(case.report)).encode("utf-8"):
        raise BadProof("report.md says something else than report.json")


def _plan(case: _Case) -> None:
    case.json("plan.json")
    sha = sha256(case.files["plan.json"])
    if sha != _there(case.manifest).plan_sha256:
        raise BadProof("the plan is not the one of the manifest")
    audit = _last(case.json("audits.json"), "audit")
    if audit.get("plan_sha256") != sha or audit.get("verdict") != "approved":
        raise BadProof("the last audit did not pass this plan")
    approval = _last(case.json("approvals.json"), "approval")
    if approval.get("plan_sha256") != sha or approval.get("decision") != "approve":
        raise BadProof("nobody approved this plan last")


def _places(case: _Case) -> None:
    plan = case.json("plan.json")
    steps = plan.get("steps") if isinstance(plan, dict) else None
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise BadProof("the plan has no steps")
    named = {domain for step in steps for domain in step.get("domains") or []}
    for step in steps:
        if step.get("tool") == "fetch_page":
            named.add(_host(str(step.get("input", ""))).removeprefix("www."))
    for snapshot in case.snapshots.values():
        host = _host(snapshot.info.final_url)
        if snapshot.info.origin == "web" and not _is_named(host, named):
            raise BadProof(f"the plan does not name {host}")


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
        raise BadProof(f"there is no {what}")
    return entries[-1]


def _there(value: T | None) -> T:
    if value is None:
        raise BadProof("a part is missing")
    return value


def _is_whole(value: Any, data: bytes) -> None:
    """A field that was left out would be filled in when read; so what was read is compared."""
    if canonical(value) != data:
        raise BadProof("a field is missing")


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
