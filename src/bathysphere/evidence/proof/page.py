"""The browser verifier: one HTML file that loads nothing and sends nothing."""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from bathysphere.core.enclosed import enclosed

_INSIDE = {"SCRIPT": ("<script>", "</script>"), "STYLE": ("<style>", "</style>")}


def page_policy(page: str) -> str:
    """Return the page's content security policy, for the server that serves it."""
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    return f"{policy}; frame-ancestors 'none'"


@cache
def verifier_page() -> str:
    """Return the page, with a content security policy that allows its script and style by hash."""
    source = (files("bathysphere.evidence.proof") / "verifier.html").read_text(encoding="utf-8")
    page = source
    for name, marks in _INSIDE.items():
        [inside] = enclosed(source, *marks)
        hashed = base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode("ascii")
        page = page.replace(f"%{name}%", f"sha256-{hashed}")
    return page
