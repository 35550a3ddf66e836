"""Text extraction: HTML with trafilatura, PDF with pdfium, DOCX, everything else unchanged.

The input is untrusted: call this through `parser_pool`, never in a process that others need.
"""

from io import BytesIO
from typing import NamedTuple
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from bathysphere.core.errors import missing_extra
from bathysphere.tools.charsets import decode
from bathysphere.tools.errors import FetchFailed

MAX_PDF_PAGES = 300
MAX_TAGS = 150_000
"""Maximum number of tags, opening and closing; extraction takes time for each."""
MAX_TEXT = 2_000_000
MAX_DOCX_XML = 30_000_000
"""Maximum unpacked size of a DOCX file's text."""
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Readable(NamedTuple):
    """The text of a source, its title, and its publication date (`YYYY-MM-DD`)."""

    text: str
    title: str = ""
    published: str | None = None


def read_body(body: bytes, content_type: str, charset: str | None, url: str) -> Readable:
    """Extract the readable text of a response body.

    Raises:
        FetchFailed: It contains no text.
        ConfigError: The extra `research` is not installed.
    """
    if content_type in ("text/html", "application/xhtml+xml"):
        readable = read_html(decode(body, charset) if charset else body, url)
    elif content_type == "application/pdf":
        readable = read_pdf(body)
    elif content_type == DOCX:
        readable = read_docx(body)
    else:
        readable = Readable(decode(body, charset))
    if not readable.text.strip():
        raise FetchFailed(f"{url} has no readable text", reason="no_text")
    return readable._replace(text=readable.text[:MAX_TEXT])


def read_html(body: bytes | str, url: str) -> Readable:
    """Extract the main text of a page, without its menus."""
    try:
        import trafilatura
    except ImportError as error:
        raise missing_extra("Reading HTML pages", "research") from error

    tags = body.count("<") if isinstance(body, str) else body.count(b"<")
    if tags > MAX_TAGS:
        raise FetchFailed(f"{url} has too many elements to read: {tags:,}", reason="too_complex")
    found = trafilatura.bare_extraction(
        body, url=url, with_metadata=True, include_comments=False, deduplicate=False
    )
    if found is None or isinstance(found, dict):
        return Readable("")
    return Readable(found.text or "", found.title or "", found.date or None)


def read_pdf(body: bytes) -> Readable:
    """Extract the text of a PDF, page by page."""
    try:
        import pypdfium2
    except ImportError as error:
        raise missing_extra("Reading PDF files", "research") from error

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise FetchFailed("Cannot open the PDF", reason="broken_pdf") from error
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
        raise FetchFailed("Cannot read the PDF", reason="broken_pdf") from error
    finally:
        document.close()
    return Readable("\n\n".join(pages), title)


def read_docx(body: bytes) -> Readable:
    """Extract the text of a DOCX file, paragraph by paragraph."""
    try:
        with ZipFile(BytesIO(body)) as archive, archive.open("word/document.xml") as file:
            xml = file.read(MAX_DOCX_XML + 1)
        if len(xml) > MAX_DOCX_XML:
            raise FetchFailed("The DOCX file is too large to read", reason="too_complex")
        root = ElementTree.fromstring(xml)  # noqa: S314  # in a process with limits
    except (BadZipFile, KeyError, OSError, ElementTree.ParseError, NotImplementedError) as error:
        raise FetchFailed("Cannot read the DOCX file", reason="broken_docx") from error
    return Readable("\n\n".join(filter(None, map(_paragraph, root.iter(f"{_WORD}p")))))


def _paragraph(paragraph: ElementTree.Element) -> str:
    breaks = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n"}
    parts = (
        (part.text or "") if part.tag == f"{_WORD}t" else breaks.get(part.tag, "")
        for part in paragraph.iter()
    )
    return "".join(parts).strip()
