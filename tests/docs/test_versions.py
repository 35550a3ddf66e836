"""The documentation of every release stays at its own address."""

import re
import sys
import tomllib
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "docs_site"))

from versions import ROOT, assemble, pack


def archive(folder: Path, version: str) -> None:
    with zipfile.ZipFile(folder / f"documentation-{version}.zip", "w") as packed:
        packed.writestr("index.html", f"about {version}")
        packed.writestr("deploy/index.html", f"deploying {version}")


def test_each_version_has_a_folder_and_the_newest_release_is_latest(tmp_path):
    for version in ("0.9.0", "0.10.0", "1.0.0rc1", "0.2.1"):
        archive(tmp_path, version)
    site = tmp_path / "site"
    assert assemble(tmp_path, site) == ["0.10.0", "0.9.0", "0.2.1", "1.0.0rc1"]
    assert (site / "0.2.1" / "deploy" / "index.html").read_text() == "deploying 0.2.1"
    listed = re.findall(r'href="([^"]+)/"', (site / "index.html").read_text())
    assert listed == ["0.10.0", "0.9.0", "0.2.1", "1.0.0rc1"]
    assert "url=../0.10.0/" in (site / "latest" / "index.html").read_text()


def test_an_archive_is_named_after_the_version_and_keeps_every_page(tmp_path):
    built = tmp_path / "built"
    (built / "deploy").mkdir(parents=True)
    (built / "index.html").write_text("home")
    (built / "deploy" / "index.html").write_text("deploying")
    packed = pack(built, tmp_path / "archives")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert packed.name == f"documentation-{version}.zip"
    assemble(packed.parent, tmp_path / "site")
    assert (tmp_path / "site" / version / "deploy" / "index.html").read_text() == "deploying"
