"""The readable text of what was fetched: HTML by trafilatura, PDF by pdfium, the rest as it is."""

from typing import NamedTuple

from bathysphere.core.errors import missing_extra
from bathysphere.tools.errors import FetchFailed

MAX_PDF_PAGES = 300
MAX_TEXT = 2_000_000


class Readable(NamedTuple):
    """The text of a source, what it calls itself, and the date it gives (`YYYY-MM-DD`)."""

    text: str
    title: str = ""
    published: str | None = None


def read_body(body: bytes, content_type: str, charset: str | None, url: str) -> Readable:
    """The readable text of a body.

    Raises:
        FetchFailed: there is no text in it.
        ConfigError: the extra `research` is not installed.
    """
    if content_type in ("text/html", "application/xhtml+xml"):
        readable = read_html(_decoded(body, charset) if charset else body, url)
    elif content_type == "application/pdf":
        readable = read_pdf(body)
    else:
        readable = Readable(_decoded(body, charset))
    if not readable.text.strip():
        raise FetchFailed(f"{url} has no readable text", reason="no_text")
    return readable._replace(text=readable.text[:MAX_TEXT])


def read_html(body: bytes | str, url: str) -> Readable:
    """The main text of a page, without its menus."""
    try:
        import trafilatura
    except ImportError as error:
        raise missing_extra("Reading HTML pages", "research") from error

    found = trafilatura.bare_extraction(
        body, url=url, with_metadata=True, include_comments=False, deduplicate=False
    )
    if found is None or isinstance(found, dict):
        return Readable("")
    return Readable(found.text or "", found.title or "", found.date or None)


def read_pdf(body: bytes) -> Readable:
    """The text of a PDF, page after page."""
    try:
        import pypdfium2
    except ImportError as error:
        raise missing_extra("Reading PDF files", "research") from error

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise FetchFailed("this PDF cannot be opened", reason="broken_pdf") from error
    try:
        pages = []
        for number in range(min(len(document), MAX_PDF_PAGES)):
            page = document[number]
            text = page.get_textpage()
            pages.append(text.get_text_range().replace("\r\n", "\n").replace("\ufffe", "-"))
            text.close()
            page.close()
        title = document.get_metadata_dict().get("Title", "")
    except pypdfium2.PdfiumError as error:
        raise FetchFailed("this PDF cannot be read", reason="broken_pdf") from error
    finally:
        document.close()
    return Readable("\n\n".join(pages), title)


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace").removeprefix("\ufeff")
    except LookupError:
        return body.decode("utf-8", "replace").removeprefix("\ufeff")
