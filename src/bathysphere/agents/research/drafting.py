"""Shared by the nodes that write from sources: excerpts for the model, drafts of its claims."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bathysphere.agents.research.forms import ClaimForm, QuoteForm
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.structured_output import Sizes
from bathysphere.evidence.report import Citation, DraftClaim, DraftSection
from bathysphere.evidence.snapshots import Snapshot


def excerpts(
    sources: Iterable[tuple[str, Snapshot]], question: str, sizes: Sizes
) -> Iterator[tuple[str, Snapshot, str]]:
    """The passages of named sources that fit into a prompt; a source without room is left out."""
    room = sizes.shown
    for name, snapshot in islice(sources, sizes.sources):
        text = excerpt(snapshot.text, question, min(sizes.excerpt, max(room, 0)))
        room -= len(text)
        if text:
            yield name, snapshot, text


def section_of(heading: str, claims: Sequence[ClaimForm]) -> DraftSection:
    """A section with a model's claims."""
    drafts = (
        DraftClaim(text=claim.text, citations=tuple(map(citation_of, claim.quotes)))
        for claim in claims
    )
    return DraftSection(heading=heading, claims=tuple(drafts))


def citation_of(quote: QuoteForm) -> Citation:
    """A model's quote, to be checked."""
    return Citation(source=quote.source, quote=quote.quote)
