"""The verifier for browsers: one HTML file that loads nothing and sends nothing."""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

_INSIDE = {
    "SCRIPT": re.compile(r"<script>(.*?)</script>", re.DOTALL),
    "STYLE": re.compile(r"<style>(.*?)</style>", re.DOTALL),
}


def page_policy(page: str) -> str:
    """The content policy that the page names, for a server that hands it out."""
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    return f"{policy}; frame-ancestors 'none'"


@cache
def verifier_page() -> str:
    """The page, with a content policy that allows its own script and style by their hashes."""
    source = (files("bathysphere.evidence.proof") / "verifier.html").read_text(encoding="utf-8")
    page = source
    for name, pattern in _INSIDE.items():
        [inside] = pattern.findall(source)
        hashed = base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode("ascii")
        page = page.replace(f"%{name}%", f"sha256-{hashed}")
    return page
