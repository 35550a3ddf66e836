"""Address checks: only public web servers may be reached, by name or IP address."""

import ipaddress
import re
from ipaddress import IPv4Address, IPv6Address

import httpx

from bathysphere.tools.errors import FetchRefused

MAX_URL = 2_048
IPAddress = IPv4Address | IPv6Address

_QUAD = re.compile(r"(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
_PRIVATE_TLDS = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp")
_PRIVATE_SUFFIXES = ("home.arpa", "in-addr.arpa", "ip6.arpa", "onion", "test", "invalid")

_BLOCKED_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24"),
            *("192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
_BLOCKED_IPV6 = tuple(
    map(
        ipaddress.IPv6Network,
        # Tunnels embed an IPv4 address; the rest is for documentation and experiments.
        ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)


def is_public(address: IPAddress) -> bool:
    """Whether an IP address is public, and does not embed another address."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _BLOCKED_IPV4)
    if address.scope_id is not None or address not in _GLOBAL_IPV6:
        return False
    return address.is_global and not any(address in network for network in _BLOCKED_IPV6)


def checked_url(text: str, *, ports: tuple[int, ...], trusted: frozenset[str]) -> httpx.URL:
    """Parse a URL and check its form, host and port.

    Args:
        text: The URL.
        ports: The allowed ports.
        trusted: Origins of the operator whose host and port are not checked.

    Raises:
        FetchRefused: The URL is not http(s), contains credentials, or has a disallowed host.
    """
    if not text or len(text) > MAX_URL:
        raise FetchRefused("The URL is empty or too long", reason="form")
    if any(ord(letter) <= 32 or ord(letter) == 127 or letter in '\\<>"^`{|}' for letter in text):
        raise FetchRefused("The URL contains invalid characters", reason="form")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise FetchRefused(f"Invalid URL: {error}", reason="form") from error
    if url.scheme not in ("http", "https"):
        raise FetchRefused("Only http and https URLs can be fetched", reason="scheme")
    if url.userinfo or "@" in text.split("://", 1)[-1].split("/", 1)[0]:
        raise FetchRefused("The URL contains credentials", reason="user")
    if origin_of(url) in trusted:
        return url
    if port_of(url) not in ports:
        raise FetchRefused(f"Port {port_of(url)} is not allowed: {ports}", reason="port")
    check_host(url.raw_host.decode("ascii"))
    return url


def check_host(host: str) -> IPAddress | None:
    """Return the IP address that a host spells out, or None if it is a name to resolve.

    Raises:
        FetchRefused: An unusual spelling, a private name, or an address that is not public.
    """
    bare = host.removeprefix("[").removesuffix("]")
    if ":" in bare:
        return _public(_parsed(bare))
    bare = bare.removesuffix(".")
    last = bare.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        if not _QUAD.fullmatch(bare):
            raise FetchRefused(f"Unusual spelling of an IP address: {host}", reason="odd_host")
        return _public(_parsed(bare))
    labels = bare.split(".")
    if len(bare) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise FetchRefused(f"{host!r} is not a valid host name", reason="odd_host")
    name = bare.lower()
    is_private = labels[-1].lower() in _PRIVATE_TLDS or any(
        name == end or name.endswith(f".{end}") for end in _PRIVATE_SUFFIXES
    )
    if len(labels) < 2 or is_private:
        raise FetchRefused(f"{host} is not a public host name", reason="private_name")
    return None


def check_resolved(host: str, addresses: list[str]) -> list[IPAddress]:
    """Parse the addresses that a name resolved to; all of them must be public.

    Raises:
        FetchRefused: There is none, or one of them is not public.
    """
    if not addresses:
        raise FetchRefused(f"{host} has no IP address", reason="no_address")
    return [_public(_parsed(address), host) for address in addresses]


def origin_of(url: httpx.URL) -> str:
    """Return scheme, host and port as one string."""
    return f"{url.scheme}://{url.raw_host.decode('ascii').lower()}:{port_of(url)}"


def port_of(url: httpx.URL) -> int:
    """Return the port of a URL, or the default of its scheme."""
    return url.port or (443 if url.scheme == "https" else 80)


def _parsed(text: str) -> IPAddress:
    try:
        return ipaddress.ip_address(text)
    except ValueError as error:
        raise FetchRefused(f"{text!r} is not a valid IP address", reason="odd_host") from error


def _public(address: IPAddress, host: str = "") -> IPAddress:
    if not is_public(address):
        subject = f"{host} resolves to {address}, which" if host else f"{address}"
        raise FetchRefused(f"{subject} is not a public address", reason="private_address")
    return address
