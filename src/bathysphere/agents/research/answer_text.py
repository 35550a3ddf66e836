"""A checked answer to a follow-up as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from bathysphere.agents.research.follow_up import OTHERWISE, UNUSABLE
from bathysphere.core.words import count
from bathysphere.evidence.render.markdown import escape
from bathysphere.evidence.report import Claim, Report

NOT_ANSWERED = "The sources already read do not answer this."
NOT_SUPPORTED = "not supported by the sources already read"


def answer_text(checked: Report, follow_up: Mapping[str, Any], *, read: int) -> str:
    """Write the statements with their quotes, then how the message was understood."""
    claims = [claim for section in checked.sections for claim in section.claims]
    supported = [claim for claim in claims if claim.status != "unsupported"]
    parts = [] if supported else [NOT_ANSWERED]
    for claim in supported:
        parts += _supported(claim, checked)
    parts += [
        f"{escape(one.text)} **({NOT_SUPPORTED})**" for one in claims if one.status == "unsupported"
    ]
    parts += [f"\\[{one.number}\\] {escape(_title(one.snapshot))}" for one in checked.sources]
    return "\n\n".join([*parts, _footer(checked, follow_up, read)]) + "\n"


def _supported(claim: Claim, checked: Report) -> Iterator[str]:
    quotes = [checked.quote(one) for one in claim.quotes]
    marks = dict.fromkeys(checked.number_of(quote.snapshot) for quote in quotes)
    yield escape(claim.text) + "".join(f" \\[{number}\\]" for number in marks)
    for quote in quotes:
        yield f"> {escape(quote.text)} \\[{checked.number_of(quote.snapshot)}\\]"


def _title(info: Any) -> str:
    return str(info.title or info.final_url)


def _footer(checked: Report, follow_up: Mapping[str, Any], read: int) -> str:
    tally = checked.tally
    left_out = f", {count(tally.quotes_refused, 'quote')} left out" if tally.quotes_refused else ""
    verified = f"{count(tally.quotes, 'quote')} verified{left_out}"
    sources = count(read, "source")
    unusable = "" if follow_up.get("is_usable", True) else f" because {UNUSABLE}"
    return (
        f"*Answered from the {sources} already read{unusable}; {verified}."
        f" For more, {OTHERWISE['answer']}.*"
    )
