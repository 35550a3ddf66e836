"""Events of the documentation site's build; `mkdocs.yml` names this file."""

import gc
import hashlib
import re
import shutil
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from command_tables import commands_page
from error_tables import errors_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from settings_tables import settings_page
from site_links import ROOT, pages_outside_docs, rewrite_links

_GENERATED = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_SCRIPTS = "assets/javascripts"
_UNUSED = ("404.html", "sitemap.xml", "sitemap.xml.gz", f"{_SCRIPTS}/lunr")
"""What the theme writes and the site does not use; lunr holds languages other than English."""
_scripts: dict[str, str] = {}


def on_startup(**_: Any) -> None:
    """Take the code of this checkout, not of an installed version."""
    sys.path.insert(0, str(ROOT / "src"))
    # A build makes millions of objects, and ends.
    gc.set_threshold(200_000, 50, 50)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the version, and list folders of the navigation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    config.site_name = f"{project['name'].title()} {project['version']}"
    config.copyright = f"Documentation of version {project['version']}. MIT licence."
    config.nav = [_listed(entry) for entry in config.nav or []]
    return config


def _listed(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    [(title, value)] = entry.items()
    if isinstance(value, list):
        return {title: [_listed(item) for item in value]}
    if value == "examples/":
        pages = [page for page in pages_outside_docs().values() if page.startswith(value)]
        return {title: pages}
    if value == "decisions/":
        names = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
        return {title: [f"{value}{name}" for name in names]}
    return entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside `docs/`, and leave out pictures that no page shows."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    for source, place in pages_outside_docs().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        texts.append(text)
        files.append(File.generated(config, place, content=text))
    shown = "\n".join(texts)
    for file in list(files):
        if file.src_uri.startswith("screenshots/") and file.src_uri not in shown:
            files.remove(file)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in what is made from the code, and point links to their targets on the site."""
    markdown = _GENERATED.sub(lambda found: _generate(found[1]), markdown)
    place = page.file.src_uri
    sources = {aim: source for source, aim in pages_outside_docs().items()}
    source = sources.get(place, f"docs/{place}")
    return rewrite_links(markdown, source=source, place=place)


def _generate(name: str) -> str:
    match name:
        case "commands":
            return commands_page()
        case "errors":
            return errors_page(ROOT / "src" / "bathysphere")
        case "settings":
            return settings_page()
        case _:
            raise ValueError(f"Unknown generated text: {name}")


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Move inline scripts to files, so that the content policy needs no exception for them."""

    def move(found: re.Match[str]) -> str:
        source = found[1].strip()
        name = f"{_SCRIPTS}/inline.{hashlib.sha256(source.encode()).hexdigest()[:12]}.js"
        _scripts[name] = source
        return f'<script src="{get_relative_url(name, page.url)}"></script>'

    return _INLINE.sub(move, output)


def on_post_build(config: MkDocsConfig) -> None:
    """Write those files, remove what is not used, and name the licence of the theme."""
    site = Path(config.site_dir)
    for name, source in _scripts.items():
        (site / name).write_text(f"{source}\n", encoding="utf-8")
    for name in _UNUSED:
        path = site / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in site.rglob("*.map"):
        path.unlink()
    theme = distribution("mkdocs-material")
    licences = [file.read_text() for file in theme.files or [] if file.name == "LICENSE"]
    heading = f"The look of these pages: Material for MkDocs {theme.version} and its icons."
    (site / "THIRD_PARTY.txt").write_text("\n\n".join((heading, *licences)), encoding="utf-8")
