"""Rendering of reports as Markdown, HTML, DOCX and PDF, all from the same blocks.

- `markdown`: `to_markdown(report)`; `html`: `to_html(report)`; `docx`: `to_docx(report)`;
  `pdf`: `to_pdf(report)` (extra `research`)
- `blocks`: `blocks_of(report)`, for another format
"""
