"""The judge: asks a second model whether each claim follows from its quotes.

Its answers are judgements, shown beside the claims. They change neither a claim nor its status, and
no check reads them. A claim without a usable answer stays without a judgement.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bathysphere.agents.research.forms import MAX_CLAIMS_JUDGED, FollowsForm, JudgeForm
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.structured_output import Asker
from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.evidence.report import Claim, Judgement, Report

NODE = "judge"
MAX_CALLS = 8
"""Per report; the claims after that are not judged."""
_CHARACTERS_PER_TOKEN = 3
_ANSWER_TOKENS = 120
"""An estimate per claim."""


class Judged(NamedTuple):
    """A report with its judgements, and the tokens they took."""

    report: Report
    tokens: int


class Judge:
    """Judges claims with the model for audits."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def judge(self, report: Report, *, tokens: int) -> Judged:
        """Add judgements to a report, within a token limit."""
        found, used = dict[str, Judgement](), 0
        for number, batch in enumerate(self._batches(report)):
            user = _material(batch, report)
            prompt = len(system(NODE)) + len(user)
            estimate = prompt // _CHARACTERS_PER_TOKEN + _ANSWER_TOKENS * len(batch)
            if number == MAX_CALLS or used + estimate > tokens:
                break
            try:
                answer = await self._asker.ask(
                    JudgeForm, system=system(NODE), user=user, name=f"judge-{number}-"
                )
            except (ModelUnavailable, UpstreamError) as error:
                if error.ends_run:
                    raise
                break  # a report is worth more than its judgements
            used += answer.tokens
            found |= _usable(answer.value.judgements, batch)
        return Judged(_with_judgements(report, found), used)

    def _batches(self, report: Report) -> Iterator[list[Claim]]:
        """Group the claims that have support, as many as a model can read at a time."""
        sizes = self._asker.sizes
        most = min(MAX_CLAIMS_JUDGED, sizes.claims)
        batch, length = list[Claim](), 0
        for claim in _supported(report):
            size = len(_material([claim], report))
            if size > sizes.shown:
                continue
            if batch and (len(batch) == most or length + size > sizes.shown):
                yield batch
                batch, length = [], 0
            batch.append(claim)
            length += size
        if batch:
            yield batch


def _supported(report: Report) -> Iterator[Claim]:
    for section in report.sections:
        for claim in section.claims:
            if claim.quotes and claim.status != "unsupported":
                yield claim


def _material(claims: Iterable[Claim], report: Report) -> str:
    parts = []
    for claim in claims:
        parts.append(fenced("claim", claim.text, id=claim.id))
        parts += [fenced("quote", report.quote(one).text, claim=claim.id) for one in claim.quotes]
    return together(parts)


def _usable(answers: Sequence[FollowsForm], batch: Sequence[Claim]) -> dict[str, Judgement]:
    """The answers about these claims; contradictory answers about a claim are dropped."""
    usable = {}
    for claim in batch:
        of_claim = [one for one in answers if one.claim == claim.id]
        if len({one.follows for one in of_claim}) == 1:
            first = of_claim[0]
            usable[claim.id] = Judgement(follows=first.follows, reason=first.reason)
    return usable


def _with_judgements(report: Report, found: dict[str, Judgement]) -> Report:
    sections = tuple(
        section.model_copy(
            update={
                "claims": tuple(
                    claim.model_copy(update={"judgement": found.get(claim.id)})
                    for claim in section.claims
                )
            }
        )
        for section in report.sections
    )
    return report.model_copy(update={"sections": sections})
