"""Which addresses stay on this machine, or are encrypted."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host is reachable only from this machine; names are not resolved."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without a password and as a browser writes them."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host.encode("idna").decode()
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_encrypted_or_local(url: str) -> bool:
    """Whether a URL uses https, or http on localhost."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    suffix = parts.netloc.partition("]")[2]
    if suffix and not suffix.startswith(":"):  # `[::1].evil.example`
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )
