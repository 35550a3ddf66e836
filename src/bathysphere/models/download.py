"""Download of a file with a known hash, resumable and all or nothing.

The bytes go to a `.part` file next to the target. If the connection is lost the file stays, and the
next try resumes from its end. Only a file with the right hash is renamed to the target; any other
is deleted.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import httpx

from bathysphere.core.errors import ConfigError, UpstreamError

Progress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the total, if the server reports one."""

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
    """Download the file at `url` with hash `sha256` to `target`.

    Returns:
        Whether anything was downloaded: False if the right file already existed.

    Raises:
        ConfigError: The hash or URL is invalid, or the folder is not writable.
        UpstreamError: The file could not be downloaded, or does not match the hash.
    """
    sha256 = sha256.strip().lower()
    if not _SHA256.fullmatch(sha256):
        raise ConfigError(f"Invalid SHA-256 hash: {sha256!r}", hint="pass 64 hex digits")
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
            f"Cannot write {target}: {error.strerror or error}",
            hint="free some space, or set BATHYSPHERE_MODEL_FOLDER to another folder",
        ) from error
    return True


def _receive(url: str, part: Path, *, progress: Progress, timeout_s: float) -> None:
    size = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if size:
        headers["Range"] = f"bytes={size}-"
    try:
        with httpx.stream(
            "GET", url, headers=headers, follow_redirects=True, timeout=timeout_s
        ) as response:
            if response.status_code == _RANGE_NOT_SATISFIABLE and size:
                return  # nothing is missing; the hash check decides
            response.raise_for_status()
            resumed = response.status_code == _PARTIAL_CONTENT
            with part.open("ab" if resumed else "wb") as file:
                _copy(response, file, size if resumed else 0, progress)
    except httpx.HTTPError as error:
        raise _download_error(url, error) from error
    except httpx.InvalidURL as error:
        raise _invalid_url(url) from error


def _download_error(url: str, error: httpx.HTTPError) -> ConfigError | UpstreamError:
    if isinstance(error, httpx.UnsupportedProtocol):
        return _invalid_url(url)
    if isinstance(error, httpx.HTTPStatusError):
        return UpstreamError(
            f"{url} returned status {error.response.status_code}", hint="check the URL"
        )
    host = httpx.URL(url).host
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return UpstreamError(
            f"Cannot connect to {host}", hint="check the network and the URL, then try again"
        )
    return UpstreamError(
        f"Lost the connection to {host}",
        hint="run the same command again to resume the download",
    )


def _invalid_url(url: str) -> ConfigError:
    return ConfigError(f"Invalid URL: {url!r}", hint="pass an http(s) URL")


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
            f"Hash mismatch for {url}: expected SHA-256 {sha256}, got {digest}",
            hint="the file was deleted; check the URL and the hash",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ignore(done: int, total: int | None) -> None:
    del done, total
