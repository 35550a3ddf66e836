"""The documentation site: builds without a warning, has no broken link, loads nothing foreign."""

import ast
import html
import importlib
import json
import pkgutil
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pydantic_settings import BaseSettings

import bathysphere
import bathysphere.testing
from bathysphere.cli.main import COMMANDS
from bathysphere.core.errors import BathysphereError

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""Elements that make a browser request something, and the attribute that says what."""
STALE = re.compile(r"not built yet|(?-i:\bTODO\b)|coming soon|lorem ipsum", re.IGNORECASE)

pytestmark = pytest.mark.timeout(300)


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


# ── the reference ──

PYTHON = re.compile(r"^```py(?:thon)?\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"BATHYSPHERE_[A-Z0-9_]*[A-Z0-9]\b")


def text_of(site: Path, name: str) -> str:
    page = (site / "reference" / name / "index.html").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^<>]+>", " ", page))


def documented_imports() -> set[str]:
    """Names of ours that documents and examples import."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    sources = [
        block for path in documents for block in PYTHON.findall(path.read_text(encoding="utf-8"))
    ]
    sources += [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    imports = [
        node
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bathysphere")
    ]
    return {f"{node.module}.{alias.name}" for node in imports for alias in node.names}


def test_every_public_name_is_in_the_reference(site):
    anchors = set()
    for name in ("api", "testing", "modules"):
        anchors |= read(site / "reference" / name / "index.html").anchors
    public = {f"bathysphere.{name}" for name in bathysphere.__all__}
    public |= {f"bathysphere.testing.{name}" for name in bathysphere.testing.__all__}
    used = documented_imports()
    assert len(used) > 80
    assert sorted(name for name in public | used if not is_listed(name, anchors)) == []


def is_listed(name: str, anchors: set[str]) -> bool:
    """Whether a name is in the reference, by itself or by another path to the same object."""
    same = {anchor for anchor in anchors if anchor.rpartition(".")[2] == name.rpartition(".")[2]}
    return name in anchors or any(load(name) is load(anchor) for anchor in same)


def load(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_a_name_that_is_not_listed_is_noticed():
    anchors = {"bathysphere.build", "bathysphere.flow.flow"}
    assert is_listed("bathysphere.harness.build.build", anchors)
    assert not is_listed("bathysphere.AgentSpec", anchors)
    assert not is_listed("bathysphere.agents.tutor.spec", {"bathysphere.agents.simple.spec"})


def modules() -> list[str]:
    """All modules of the package but for the test kit, migrations and a project's template."""
    skipped = ("bathysphere.testing", "bathysphere.cli.project", "bathysphere.engine.migrations")
    found = pkgutil.walk_packages(bathysphere.__path__, "bathysphere.")
    return [module.name for module in found if not module.name.startswith(skipped)]


def all_subclasses(kind: type) -> set[type]:
    found = set(kind.__subclasses__())
    return found.union(*(all_subclasses(sub) for sub in found))


@pytest.fixture(scope="module")
def imported() -> None:
    for name in modules():
        importlib.import_module(name)


def test_every_error_is_listed_with_its_code(site, imported):
    errors = [e for e in all_subclasses(BathysphereError) if e.__module__.startswith("bathysphere")]
    codes = {error.code for error in errors if ".testing" not in error.__module__}
    assert len(codes) > 90
    assert sorted(codes - read(site / "reference" / "errors" / "index.html").anchors) == []


def test_messages_and_hints_are_listed(site):
    text = text_of(site, "errors")
    assert "--no-worker requires Redis" in text
    assert "pass --redis-url, or omit --no-worker" in text
    assert len(re.findall("HTTP status ", text)) > 90


def test_every_setting_is_listed_with_its_meaning(site, imported):
    text = text_of(site, "settings")
    classes = [c for c in all_subclasses(BaseSettings) if c.__module__.startswith("bathysphere.")]
    fields = [
        (settings, name, field)
        for settings in classes
        for name, field in settings.model_fields.items()
        if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings))
    ]
    assert len(fields) > 140
    for settings, name, field in fields:
        alias = field.validation_alias or f"{settings.model_config['env_prefix']}{name}".upper()
        for variable in getattr(alias, "choices", [alias]):
            assert variable in text
        assert field.description, f"{settings.__name__}.{name} has no description"


def test_every_variable_that_the_code_names_is_listed(site):
    package = ROOT / "src" / "bathysphere"
    sources = [path for path in package.rglob("*.py") if "testing" not in path.parts]
    named = {name for path in sources for name in VARIABLE.findall(path.read_text("utf-8"))}
    prefixes = {"BATHYSPHERE_MODEL_SUBAGENT"}
    assert len(named) > 20
    assert sorted(named - prefixes - set(VARIABLE.findall(text_of(site, "settings")))) == []


def test_every_command_is_listed(site):
    text = text_of(site, "commands")
    assert [name for name in COMMANDS if f"bathysphere {name}" not in text] == []
    for option in ("--approve ask|all|none", "--data-dir FOLDER", "bathysphere keys create"):
        assert option in text, option
