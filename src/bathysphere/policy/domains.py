"""Host names and domain patterns.

A pattern is a host name, which covers itself and its subdomains, or `*`, which covers all.
"""

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit

ANY = "*"
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LABEL = re.compile(r"^(?!-)[a-z0-9_-]{1,63}(?<!-)$")


def host_of(url: str) -> str | None:
    """Return the normalised host of an http URL, or None.

    None if the URL contains credentials, has an IP address as host, or is not http(s).
    """
    if any(letter.isspace() or letter in "\\\x00" for letter in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or port == 0:
        return None
    return clean_host(parts.hostname or "")


def clean_host(host: str) -> str | None:
    """Return a host name in lower-case ASCII without a trailing dot; None if it is invalid."""
    name = _clean_name(host)
    return name if name and "." in name else None


def covers(pattern: str, host: str) -> bool:
    """Whether a pattern covers a host."""
    return pattern == ANY or host == pattern or host.endswith(f".{pattern}")


def any_covers(patterns: Iterable[str], host: str) -> bool:
    """Whether one of the patterns covers a host."""
    return any(covers(pattern, host) for pattern in patterns)


def clean_pattern(pattern: str) -> str | None:
    """Return the normalised pattern, or None if it is invalid. `*.a.org` becomes `a.org`."""
    if pattern.strip() == ANY:
        return ANY
    return _clean_name(pattern.strip().removeprefix("*."))


def _clean_name(host: str) -> str | None:
    host = unicodedata.normalize("NFKC", host).strip().removesuffix(".").lower()
    try:
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except UnicodeError:
        return None
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.match, labels)):
        return None
    # A numeric last label makes it an IP address, in whatever spelling.
    return None if _NUMERIC.fullmatch(labels[-1]) else host
