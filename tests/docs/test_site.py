"""The documentation site: builds without a warning, has no broken link, loads nothing foreign."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that make a browser request something, and the attribute that says what."""
STALE = re.compile(r"not built yet|(?-i:\bTODO\b)|coming soon|lorem ipsum", re.IGNORECASE)


class Reader(HTMLParser):
    """Collects links, anchors, requests and inline code of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if (address := values.get(LOADED.get(tag, ""))) is not None:
            self.loaded.append(address)
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.inline.append("a script")
        if tag == "style" or "style" in values:
            self.inline.append(f"a style of {tag}")
        self.inline += [name for name in values if name.startswith("on")]


@cache
def read(page: Path) -> Reader:
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert len(found) > 80
    return found


def test_every_document_is_a_page(site):
    for path in (ROOT / "docs").rglob("*.md"):
        place = path.relative_to(ROOT / "docs").with_suffix("")
        page = place.parent if place.name == "README" else place
        assert (site / page / "index.html").is_file(), path
    for name in ("architecture", "threat-model", "changelog", "examples/own_tool"):
        assert (site / name / "index.html").is_file()


def broken_links(page: Path, site: Path) -> list[str]:
    return [link for link in read(page).links if not leads_somewhere(link, page, site)]


def leads_somewhere(link: str, page: Path, site: Path) -> bool:
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return address.scheme in ("https", "http", "mailto")
    aim = (page.parent / unquote(address.path)).resolve() if address.path else page
    if aim.is_dir():
        aim /= "index.html"
    if not (aim.is_relative_to(site) and aim.is_file()):
        return False
    return not address.fragment or unquote(address.fragment) in {"__top", *read(aim).anchors}


def test_no_link_is_broken(site, pages):
    broken = {page.relative_to(site): broken_links(page, site) for page in pages}
    assert {page: links for page, links in broken.items() if links} == {}


def test_broken_links_and_anchors_are_noticed(tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<a href="#here" id="here"></a><a href="#gone"></a><a href="gone/"></a>')
    assert broken_links(page, tmp_path) == ["#gone", "gone/"]


def test_pages_load_nothing_from_elsewhere(site, pages):
    files = [address for page in pages for address in read(page).loaded]
    assert len(files) > 300
    assert [name for name in files if "//" in name or name.startswith("data:")] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    addresses = re.findall(r"url\([\"']?([^\"')]{1,40})", styles)
    assert [found for found in addresses if not found.startswith(("data:", "#"))] == []
    assert "@import" not in styles


def test_pages_have_no_inline_scripts_or_styles(site, pages):
    found = {page.relative_to(site): read(page).inline for page in pages}
    assert {page: inline for page, inline in found.items() if inline} == {}


def test_search_knows_every_page(site, pages):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    known = {entry["location"].partition("#")[0] for entry in index["docs"]}
    addresses = {page.parent.relative_to(site).as_posix() + "/" for page in pages}
    assert addresses - {"./"} <= known
    assert "" in known


def test_the_version_is_shown(site):
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    page = (site / "index.html").read_text(encoding="utf-8")
    assert f"Bathysphere {version[1]}" in page
    assert f"Documentation of version {version[1]}." in page


def test_no_page_says_that_something_is_missing(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = [entry["location"] for entry in index["docs"] if STALE.search(entry["text"])]
    assert found == []


def test_the_site_is_small_and_has_only_what_it_shows(site):
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20_000_000
    assert [path for path in files if path.suffix == ".map"] == []
    assert not (site / "404.html").exists()
