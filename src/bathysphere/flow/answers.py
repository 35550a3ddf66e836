"""Links in answers: opening one sends its address, which can carry what was read.

A link is known if the person typed it, or if it stands whole in what a tool returned and not in
what the tool was called with. Any other link was put together by a model.
"""

from collections.abc import Iterable

from bathysphere.flow.addresses import addresses, comparable, links
from bathysphere.flow.ledger import Ledger
from bathysphere.flow.provenance import Source


def known_links(answer: str, ledger: Ledger, sources: Iterable[Source]) -> list[str]:
    """The links of an answer that may be opened without a question."""
    found = {link: comparable(link) for link in links(answer)}
    if not found:
        return []
    known = ledger.quoted | {comparable(a) for words in ledger.words for a in addresses(words)}
    for source in sources:
        # Texts without any of the links are not taken apart.
        left = [link for link, form in found.items() if form not in known and link in source.text]
        if left:
            given = {comparable(link) for link in links(source.about)}
            known |= {comparable(link) for link in links(source.text)} - given
    return [link for link, form in found.items() if form in known]
