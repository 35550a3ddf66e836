"""Documentation of several versions on one site, from an archive per release.

`pack SITE FOLDER` writes `documentation-VERSION.zip`, which a release keeps. `assemble ARCHIVES
SITE` makes one site of all of them: a folder per version, `latest/`, and a list of the versions.
"""

import re
import shutil
import sys
import tomllib
import zipfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
_RELEASED = re.compile(r"\d+\.\d+\.\d+")
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
{head}
<title>Bathysphere: documentation</title>
{body}
</html>
"""


def pack(site: Path, folder: Path) -> Path:
    """Put a built site into an archive that is named after this checkout's version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder.mkdir(parents=True, exist_ok=True)
    name = folder / f"documentation-{project['version']}"
    return Path(shutil.make_archive(str(name), "zip", site))


def assemble(archives: Path, site: Path) -> list[str]:
    """Make the site of all versions; the versions, newest first."""
    found = {path.stem.removeprefix("documentation-"): path for path in archives.glob("*.zip")}
    versions = sorted(found, key=_order, reverse=True)
    for version in versions:
        with zipfile.ZipFile(found[version]) as archive:
            archive.extractall(site / version)
    newest = escape(versions[0])
    items = "\n".join(f'<li><a href="{escape(v)}/">{escape(v)}</a></li>' for v in versions)
    body = f"<h1>Bathysphere</h1>\n<p>Documentation by version:</p>\n<ul>\n{items}\n</ul>"
    (site / "index.html").write_text(_PAGE.format(head="", body=body), encoding="utf-8")
    (site / "latest").mkdir()
    refresh = f'<meta http-equiv="refresh" content="0; url=../{newest}/">'
    body = f'<p>Go to <a href="../{newest}/">version {newest}</a>.</p>'
    page = _PAGE.format(head=refresh, body=body)
    (site / "latest" / "index.html").write_text(page, encoding="utf-8")
    return versions


def _order(version: str) -> tuple[bool, list[int]]:
    """Releases by their numbers, after everything that is not one, such as 1.0.0rc1."""
    return bool(_RELEASED.fullmatch(version)), [int(part) for part in re.findall(r"\d+", version)]


if __name__ == "__main__":
    command, source, target = sys.argv[1:]
    made = {"pack": pack, "assemble": assemble}[command](Path(source), Path(target))
    print(made)
