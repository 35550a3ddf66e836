"""Rule-based checks of sources: copies of one another, and warnings."""

import re
from collections.abc import Iterable
from urllib.parse import urldefrag, urlsplit

from bathysphere.core.canonical import sha256
from bathysphere.evidence.report import FlagCode
from bathysphere.evidence.snapshots import Snapshot, Snapshots

SHINGLE = 5
SAME = 0.6
"""The share of common five-word runs above which two texts count as copies."""
THIN = 200
"""A page with fewer characters has too little content."""

_WORD = re.compile(r"\w+")
_SOFT_404 = re.compile(
    r"\b(?:page (?:was )?not found|404 error|error 404|no longer (?:available|exists)"
    r"|page (?:does not|doesn't) exist)\b",
    re.IGNORECASE,
)
_PAYWALL = re.compile(
    r"\b(?:subscribe (?:now )?to (?:continue|read)|subscribers only|already a subscriber"
    r"|log in to (?:continue|read)|sign in to (?:continue|read)|create a free account to)\b",
    re.IGNORECASE,
)


def clusters(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Map each snapshot to the first one of its group: copies, or parts of one document."""
    leaders: list[tuple[str, frozenset[str]]] = []
    documents: dict[str, str] = {}
    family: dict[str, str] = {}
    for snapshot in snapshots:
        runs = _shingles(snapshot.text)
        document = _document(snapshot)
        copied = next((name for name, other in leaders if _alike(runs, other)), None)
        leader = documents.get(document) or copied or snapshot.id
        if copied is None:
            leaders.append((leader, runs))
        documents[document] = family[snapshot.id] = leader
    return family


def independent(quoted: Iterable[str], family: dict[str, str]) -> int:
    """Count the groups of copies that some snapshots belong to."""
    return len({family.get(snapshot, snapshot) for snapshot in quoted})


def flags_of(snapshot: Snapshot, snapshots: Snapshots, family: dict[str, str]) -> list[FlagCode]:
    """Return the warnings about a source."""
    head = snapshot.text[:2_000]
    length = len(snapshot.text)
    info = snapshot.info
    tests: list[tuple[FlagCode, bool]] = [
        ("thin", length < THIN and info.origin != "client"),
        ("soft_404", length < 2_000 and bool(_SOFT_404.search(f"{info.title} {head}"))),
        ("paywall", length < 4_000 and bool(_PAYWALL.search(snapshot.text))),
        ("redirected", _host(info.url) != _host(info.final_url)),
        ("injection", bool(snapshot.injected)),
        ("copy_of_another", _is_copy(snapshot, snapshots, family)),
    ]
    return [flag for flag, found in tests if found and snapshot.id in snapshots]


def _is_copy(snapshot: Snapshot, snapshots: Snapshots, family: dict[str, str]) -> bool:
    leader = snapshots.get(family.get(snapshot.id, snapshot.id), snapshot)
    return _document(leader) != _document(snapshot)


def _document(snapshot: Snapshot) -> str:
    """The URL of the whole document that a snapshot may be a part of."""
    return urldefrag(snapshot.info.final_url).url


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    runs = (" ".join(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)))
    # The smallest hashes are a fair sample, so a long page costs no more than a short one.
    return frozenset(sorted({sha256(run.encode("utf-8"))[:16] for run in runs})[:400])


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the texts are copies, by their Jaccard similarity estimated from hashes (MinHash)."""
    smallest = sorted(one | other)[: max(1, min(len(one), len(other)))]
    common = sum(run in one and run in other for run in smallest)
    return common >= SAME * len(smallest)
