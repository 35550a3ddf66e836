"""Addresses of a released package: hatchling calls this while it builds (`pyproject.toml`).

The project's address is where a release is built: a workflow knows its server and repository. A
package built elsewhere, such as on a developer's machine, names no address.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+\))")
"""A Markdown link or picture whose target is a file of this repository."""


class AddressesOfRelease(MetadataHookInterface):
    """Fills in `urls`, and makes the links of the README absolute."""

    def update(self, metadata: dict) -> None:
        """Change the fields that `dynamic` lists."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["urls"] = {}
        if repository := repository_address(os.environ):
            tag = f"v{metadata['version']}"
            metadata["urls"] = project_urls(repository, tag)
            readme = with_absolute_links(readme, repository, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def repository_address(environment: Mapping[str, str]) -> str:
    """Where the workflow that builds this runs from; empty outside of a workflow."""
    server = environment.get("GITHUB_SERVER_URL", "").rstrip("/")
    name = environment.get("GITHUB_REPOSITORY", "")
    return f"{server}/{name}" if server and name else ""


def project_urls(repository: str, tag: str) -> dict[str, str]:
    """Labels that package indexes know, with addresses of this version."""
    return {
        "Source": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/README.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Markdown whose links work outside the repository, too."""

    def absolute(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        return f"{picture}{label}{repository}/{'raw' if picture else 'blob'}/{tag}/{target}"

    return _RELATIVE.sub(absolute, text)
