"""Fetch a file whose hash is known: all of it, that very file, or nothing.

The bytes go to a `.part` file beside the target. A cut connection leaves it there, and the next
try goes on from its end. Only a file with the right hash gets the target's name; any other is
removed.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import httpx

from bathysphere.core.errors import ConfigError, UpstreamError

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there and, where the server says so, the bytes there will be."""

_CHUNK = 1 << 18
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str,
    progress: Progress | None = None,
    timeout_s: float = 30,
) -> bool:
    """Bring the file at `url` with hash `sha256` to `target`.

    Returns:
        Whether anything had to be fetched: False when the right file was there.

    Raises:
        ConfigError: The hash is not one, or the folder cannot be written to.
        UpstreamError: The file could not be fetched, or is not the one the hash belongs to.
    """
    sha256 = sha256.strip().lower()
    if not _SHA256.fullmatch(sha256):
        raise ConfigError(f"{sha256!r} is not a SHA-256 hash", hint="give its 64 hex digits")
    part = target.with_name(f"{target.name}.{sha256[:12]}.part")
    try:
        if target.is_file() and _digest(target) == sha256:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(url, part, progress=progress or _ignore, timeout_s=timeout_s)
        _verify(url, part, sha256)
        part.replace(target)
    except OSError as error:
        raise ConfigError(
            f"{target} cannot be written: {error.strerror or error}",
            hint="make room or set BATHYSPHERE_MODEL_FOLDER to another folder",
        ) from error
    return True


def _receive(url: str, part: Path, *, progress: Progress, timeout_s: float) -> None:
    there = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if there:
        headers["Range"] = f"bytes={there}-"
    try:
        with httpx.stream(
            "GET", url, headers=headers, follow_redirects=True, timeout=timeout_s
        ) as response:
            if response.status_code == _RANGE_NOT_SATISFIABLE and there:
                return  # nothing is missing; the hash will tell whether it is right
            response.raise_for_status()
            resumed = response.status_code == _PARTIAL_CONTENT
            with part.open("ab" if resumed else "wb") as file:
                _copy(response, file, there if resumed else 0, progress)
    except httpx.HTTPError as error:
        raise _explained(url, error) from error
    except httpx.InvalidURL as error:
        raise _no_address(url) from error


def _explained(url: str, error: httpx.HTTPError) -> ConfigError | UpstreamError:
    if isinstance(error, httpx.UnsupportedProtocol):
        return _no_address(url)
    if isinstance(error, httpx.HTTPStatusError):
        return UpstreamError(
            f"{url} answers {error.response.status_code}", hint="check the address"
        )
    host = httpx.URL(url).host
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return UpstreamError(
            f"{host} cannot be reached", hint="check the network and the address, then try again"
        )
    return UpstreamError(
        f"the connection to {host} was lost",
        hint="run the same command again; it goes on where it stopped",
    )


def _no_address(url: str) -> ConfigError:
    return ConfigError(f"{url!r} is not an address", hint="give an http(s) URL")


def _copy(response: httpx.Response, file: BinaryIO, done: int, progress: Progress) -> None:
    length = response.headers.get("Content-Length")
    total = done + int(length) if length else None
    progress(done, total)
    for chunk in response.iter_bytes(_CHUNK):
        file.write(chunk)
        done += len(chunk)
        progress(done, total)


def _verify(url: str, part: Path, sha256: str) -> None:
    digest = _digest(part)
    if digest != sha256:
        part.unlink()
        raise UpstreamError(
            f"what {url} sent is not the file that was asked for: "
            f"its SHA-256 is {digest}, not {sha256}",
            hint="it was removed; check the address and the hash",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ignore(done: int, total: int | None) -> None:
    del done, total
