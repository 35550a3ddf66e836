"""Addresses in a text: URLs, hosts, mail addresses, phone numbers and accounts.

The search is generous, since an address that is missed could lead the reader astray: invisible
characters are removed and full-width letters folded before it. What is found there but does not
stand in the text as it is, is disguised, and equals nothing that anybody vouched for.

Every text that a call carries is searched, so the search takes linear time, and the patterns that
look at each character of a text begin with a digit, which `re` finds fast.
"""

import re
import unicodedata
from collections.abc import Iterator

from bathysphere.core.invisible import without_invisible
from bathysphere.flow.values import canonical

_WORD = re.compile(r"[^\s<>\"`]+")
_PIECE = re.compile(r"[^'\\{}|^,;()\[\]“”‘’«»*!~…—–$=&%]+")
_SCHEME = re.compile(
    r"[A-Za-z][-+0-9A-Za-z]{0,20}:/{1,2}(?=[^/])|(?:mailto|tel|sms|data|javascript):", re.IGNORECASE
)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_HOST_END = re.compile(r"[/:?#]")
_LABEL = re.compile(r"[\w-]{1,63}")
_MARKS = ".,;:!?*_~…—–-'\"’”»)]}"
_DATE = re.compile(
    r"(?<![\d.])(?:(?:1[5-9]|2\d)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])"
    r"|(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.](?:(?:1[5-9]|2\d)\d\d))(?!\d)"
)
_TIME = re.compile(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:])")
_NUMERIC = re.compile(r"\d[-\d./(): \u00a0\u2010-\u2015]{6,}")
"""Where a phone number or an account of digits may be."""
_ASCII_NUMERIC = re.compile(r"\d[-\d./(): \u00a0\u2010-\u2015]{6,}", re.ASCII)
"""The same for most texts, and much faster: there are many digits in Unicode."""
_DIGITS = re.compile(r"(?<![0-9A-Za-z])\+?\(?\d(?:[-./() \u00a0\u2010-\u2015]{0,2}\d)*")
_ACCOUNT = re.compile(
    r"(?<![0-9A-Za-z])(?:[A-Za-z]{2}\d{2}[0-9A-Za-z]{8,30}|[A-Z]{2}\d{2}(?: [0-9A-Z]{1,4}){2,8})"
    r"(?![0-9A-Za-z])"
)
_ACCOUNT_START = re.compile(r"[0-9][0-9](?<=[A-Za-z]{2}[0-9]{2})")
_LONGEST_ACCOUNT, _LONGEST_DATE = 50, 11
_BEFORE_NUMBER = 3
"""Characters before a number that may belong to it, `+(`, and the one before them."""
_SEPARATORS = "+-./() \u00a0\u2010\u2011\u2012\u2013\u2014\u2015"
MIN_DIGITS = 7
"""A number with fewer digits is neither a phone number nor an account."""

FILE_ENDINGS = re.compile(
    r"avi|bmp|bz2|cfg|conf|cpp|css|csv|docx?|eml|exe|gif|gz|html?|ics|ini|ipynb|java|jpe?g|jsx?|json"
    r"|log|mp3|mp4|od[pst]|ogg|parquet|pdf|png|pptx?|rtf|sql|svg|tar|tex|tiff?|toml|tsx?|tsv|txt"
    r"|wav|webp|xlsx?|xml|ya?ml",
    re.IGNORECASE,
)
"""Endings of files that are not top-level domains."""
DOMAINS = re.compile(
    r"com|net|org|edu|gov|mil|int|info|biz|name|app|dev|page|link|site|shop|[a-z]{2}", re.IGNORECASE
)
"""Domains that are told from the first word of a sentence, if the space before it is missing."""


def addresses(text: str) -> list[str]:
    """The addresses in a text, each once, in order; links are cut before punctuation."""
    return list(dict.fromkeys(_all(text)))


def links(text: str) -> list[str]:
    """The URLs and hosts in a text, each once, in order."""
    return list(dict.fromkeys(_links(text)))


def disguised(text: str) -> list[str]:
    """The addresses that a text contains only once it is read as a person or program would."""
    plain = _folded(text)
    if plain == text:
        return []
    known = {comparable(found) for found in addresses(text)}
    return [found for found in addresses(plain) if comparable(found) not in known]


def comparable(address: str) -> str:
    """The form in which two spellings of one address are equal.

    The separators of a number do not count, nor does the scheme of a web address.
    """
    if _is_number(address):
        return "".join(char for char in address if char.isalnum() or char == "+").upper()
    scheme = _WEB.match(address)
    if scheme is None and not _is_host(address):
        return canonical(address)
    rest = canonical("https://" + (address if scheme is None else address[scheme.end() :]))
    host, slash, path = rest.removeprefix("text https://").partition("/")
    return f"text https://{host}{slash if path else ''}{path}"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", without_invisible(text))


def _all(text: str) -> Iterator[str]:
    yield from _links(text)
    rest, at = [], 0
    for start, end in _accounts(text):
        yield text[start:end]
        rest.append(text[at:start])
        at = end
    yield from _numbers(" ".join([*rest, text[at:]]))


def _accounts(text: str) -> Iterator[tuple[int, int]]:
    """Where accounts with a country code are."""
    after = 0
    for digits in _ACCOUNT_START.finditer(text):
        start = digits.start() - 2
        if start < after or (start and text[start - 1].isalpha() and text[start - 1].isascii()):
            continue  # in an account, or in a word
        before = min(start, _LONGEST_DATE)
        window = _without_dates(text[start - before : start + _LONGEST_ACCOUNT])
        found = _ACCOUNT.match(window, before)
        if found and _digits(found[0]) >= MIN_DIGITS:
            after = start + len(found[0])
            yield start, after


def _numbers(text: str) -> Iterator[str]:
    """Numbers that are long enough for a phone or an account, and neither date nor time."""
    numeric = _ASCII_NUMERIC if text.isascii() else _NUMERIC
    for part in numeric.finditer(text):
        if _digits(part[0]) < MIN_DIGITS or _DATE.fullmatch(part[0].rstrip(" .)")):
            continue
        rest = _without_dates(text[max(0, part.start() - _BEFORE_NUMBER) : part.end() + 1])
        for found in _DIGITS.finditer(rest):
            number = found[0]
            after = rest[found.end() : found.end() + 1]
            if after.isascii() and after.isalnum():
                number = _without_last_digits(number)  # they are the beginning of a word
            if _digits(number) >= MIN_DIGITS:
                yield number.rstrip(_SEPARATORS).strip()


def _without_last_digits(number: str) -> str:
    end = len(number)
    while end and number[end - 1].isdecimal():
        end -= 1
    return number[:end]


def _without_dates(text: str) -> str:
    """The text with blanks in place of dates and times."""
    return _TIME.sub(_blank, _DATE.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _links(text: str) -> Iterator[str]:
    for word in _marked_words(text):
        scheme = _SCHEME.search(word) if ":" in word else None
        if scheme is None and "@" not in word and "." not in word.strip(_MARKS):
            continue
        for piece in _PIECE.finditer(word, 0, scheme.start() if scheme else len(word)):
            part = _trimmed(piece[0])
            if not (_is_mail(part) or _is_host(part)):
                continue
            if _HOST_END.search(part):  # what follows a path belongs to it, whatever it is
                yield word[word.index(part, piece.start()) :].rstrip(_MARKS)
                break
            yield part
        if scheme:
            yield word[scheme.start() :].rstrip(_MARKS)


def _marked_words(text: str) -> Iterator[str]:
    """The words that may be or contain an address, each once."""
    for part in dict.fromkeys(text.split()):
        if "." in part[:-1] or ":" in part or "@" in part:
            yield from _WORD.findall(part)


def _trimmed(piece: str) -> str:
    """A word without punctuation, and without the first word of the next sentence."""
    word = piece.strip(_MARKS + "([{")
    before, dot, last = word.rpartition(".")
    if dot and ("." in before) and last.isalpha() and _starts_sentence(last):
        return before
    return word


def _is_mail(word: str) -> bool:
    user, at, host = word.rpartition("@")
    return bool(at and user and host)


def _is_host(word: str) -> bool:
    """Whether a word would be taken for the address of a site."""
    host = _HOST_END.split(word, maxsplit=1)[0]
    labels = host.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    last = labels[-1]
    has_more = len(host) < len(word)
    if all(label.isdigit() for label in labels):
        return len(labels) == 4  # an IP address; anything else is a number
    if len(last) < 2 or last.isdigit():
        return has_more and len(labels) > 2
    if has_more or labels[0].lower() == "www":
        return True
    return FILE_ENDINGS.fullmatch(last) is None and not _starts_sentence(last)


def _starts_sentence(label: str) -> bool:
    """Whether a label is rather the first word after a missing space: `done.Thanks`."""
    return label[0].isupper() and not label.isupper() and DOMAINS.fullmatch(label) is None


def _is_number(address: str) -> bool:
    has_only = all((char.isascii() and char.isalnum()) or char in _SEPARATORS for char in address)
    return has_only and _digits(address) >= MIN_DIGITS and not _is_host(address)
