"""Read the text of local documents: plain text, Markdown, PDF and DOCX."""

from pathlib import Path

from bathysphere.core.errors import BathysphereError, ConfigError
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.parser_pool import ParseLimits, shared_parsers
from bathysphere.tools.readable import DOCX, Readable

KINDS = {".txt": "text/plain", ".md": "text/markdown", ".pdf": "application/pdf", ".docx": DOCX}
"""Extension → media type of the files that can be read."""
MAX_BYTES = 50_000_000
_TEXT = ("text/plain", "text/markdown")


def documents_in(folder: Path) -> list[Path]:
    """List the readable files of a folder and its subfolders, without hidden ones and links."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in KINDS
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.is_symlink()
        and path.is_file()
    )


def read_local(path: Path) -> Readable:
    """Read the text of a file. PDF and DOCX are parsed in a separate process.

    Raises:
        FetchFailed: The file is too large, broken or has no text.
        ConfigError: The extra `research` is not installed.
    """
    kind = KINDS[path.suffix.lower()]
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FetchFailed(f"{path} is larger than {MAX_BYTES:,} bytes", reason="too_large")
        body = path.read_bytes()
    except OSError as error:
        raise FetchFailed(f"Cannot read {path}: {error.strerror}", reason="unreadable") from error
    if kind in _TEXT:
        return Readable(body.decode("utf-8", "replace"))
    return shared_parsers(ParseLimits()).read_now(body, kind, path.name)


def no_documents(folder: Path) -> ConfigError:
    """Create the error for a folder without a readable document."""
    return ConfigError(
        f"No readable documents in {folder}", hint="add .md, .txt, .pdf or .docx files"
    )


def read_all(folder: Path) -> tuple[dict[Path, Readable], list[str]]:
    """Read a folder's documents; files that cannot be read are returned as reasons.

    Raises:
        ConfigError: The extra `research` is not installed.
    """
    found: dict[Path, Readable] = {}
    failed: list[str] = []
    for path in documents_in(folder):
        try:
            found[path] = read_local(path)
        except ConfigError:
            raise
        except BathysphereError as error:
            failed.append(f"{path.relative_to(folder)}: {error.message}")
    return found, failed
