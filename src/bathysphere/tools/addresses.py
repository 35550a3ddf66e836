"""Which addresses may be reached: public web servers, by name or by number, and nothing else."""

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
_OURS = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp")
_OURS_TOO = ("home.arpa", "in-addr.arpa", "ip6.arpa", "onion", "test", "invalid")

_NEVER_4 = tuple(
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
_ONLY_6 = ipaddress.IPv6Network("2000::/3")
_NEVER_6 = tuple(
    map(
        ipaddress.IPv6Network,
        # Tunnels carry an IPv4 address inside; the rest is for documents and experiments.
        ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)


def is_public(address: IPAddress) -> bool:
    """Whether an address is one of the public internet's, in no disguise."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _NEVER_4)
    if address.scope_id is not None or address not in _ONLY_6:
        return False
    return address.is_global and not any(address in network for network in _NEVER_6)


def checked_url(text: str, *, ports: tuple[int, ...], trusted: frozenset[str]) -> httpx.URL:
    """An address whose form is beyond doubt.

    Args:
        text: The address as it was given.
        ports: The ports that may be asked.
        trusted: Origins of the operator's own for which host and port are not checked.

    Raises:
        FetchRefused: it is of another kind, has a user in it, or names a host in an odd way.
    """
    if not text or len(text) > MAX_URL:
        raise FetchRefused("the address is empty or too long", reason="form")
    if any(ord(letter) <= 32 or ord(letter) == 127 or letter in '\\<>"^`{|}' for letter in text):
        raise FetchRefused("the address has letters that addresses do not have", reason="form")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise FetchRefused(f"this is no address: {error}", reason="form") from error
    if url.scheme not in ("http", "https"):
        raise FetchRefused("only http and https can be fetched", reason="scheme")
    if url.userinfo or "@" in text.split("://", 1)[-1].split("/", 1)[0]:
        raise FetchRefused("the address has a user or a password in it", reason="user")
    if origin_of(url) in trusted:
        return url
    if port_of(url) not in ports:
        raise FetchRefused(f"port {port_of(url)} is not one of {ports}", reason="port")
    check_host(url.raw_host.decode("ascii"))
    return url


def check_host(host: str) -> IPAddress | None:
    """The address that a host spells out, or nothing if it is a name to be looked up.

    Raises:
        FetchRefused: an odd spelling, a private name, or an address that is not public.
    """
    bare = host.removeprefix("[").removesuffix("]")
    if ":" in bare:
        return _public(_parsed(bare))
    bare = bare.removesuffix(".")
    last = bare.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        if not _QUAD.fullmatch(bare):
            raise FetchRefused(f"{host} is an odd way to write a number", reason="odd_host")
        return _public(_parsed(bare))
    labels = bare.split(".")
    if len(bare) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise FetchRefused(f"{host!r} is no host name", reason="odd_host")
    name = bare.lower()
    ours = labels[-1].lower() in _OURS or any(
        name == end or name.endswith(f".{end}") for end in _OURS_TOO
    )
    if len(labels) < 2 or ours:
        raise FetchRefused(f"{host} is not a public name", reason="private_name")
    return None


def check_resolved(host: str, addresses: list[str]) -> list[IPAddress]:
    """The addresses a name was looked up to; one that is not public spoils them all.

    Raises:
        FetchRefused: there is none, or one of them is not public.
    """
    if not addresses:
        raise FetchRefused(f"{host} has no address", reason="no_address")
    return [_public(_parsed(address), host) for address in addresses]


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port, as one text."""
    return f"{url.scheme}://{url.raw_host.decode('ascii').lower()}:{port_of(url)}"


def port_of(url: httpx.URL) -> int:
    """The port that will be asked."""
    return url.port or (443 if url.scheme == "https" else 80)


def _parsed(text: str) -> IPAddress:
    try:
        return ipaddress.ip_address(text)
    except ValueError as error:
        raise FetchRefused(f"{text!r} is no address", reason="odd_host") from error


def _public(address: IPAddress, host: str = "") -> IPAddress:
    if not is_public(address):
        whose = f"{host} leads to {address}, which" if host else f"{address}"
        raise FetchRefused(f"{whose} is not a public address", reason="private_address")
    return address
