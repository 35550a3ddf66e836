"""Where files of the repository are on the documentation site, and the links between them."""

import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "THREAT_MODEL.md": "threat-model.md",
}
"""Documents of the root folder, and their names on the site."""
_LINK = re.compile(r"(!?)\[([^\[\]\n]*)\]\(([^()\s]+)\)")


def pages_outside_docs() -> dict[str, str]:
    """Pages that are not in `docs/`: path in the repository → path on the site."""
    examples = sorted((ROOT / "examples").glob("*/README.md"))
    return {
        **ROOT_PAGES,
        "examples/README.md": "examples/README.md",
        **{f"examples/{path.parent.name}/README.md": _example(path) for path in examples},
    }


def _example(path: Path) -> str:
    return f"examples/{path.parent.name}.md"


def rewrite_links(markdown: str, *, source: str, place: str) -> str:
    """Point links to where their targets are on the site.

    Args:
        markdown: The text of a page.
        source: The page's path in the repository.
        place: The page's path on the site.
    """
    outside = pages_outside_docs()

    def rewrite(found: re.Match[str]) -> str:
        mark, text, target = found.groups()
        file, hash_sign, anchor = target.partition("#")
        if not file or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = _resolve(source, file)
        if path is None:
            return found[0]
        aim = path.removeprefix("docs/") if path.startswith("docs/") else outside.get(path)
        if aim is None:
            return text  # a source file, which is not on the site
        if text == target:
            text = _title(path)  # `[serve.md](serve.md)` names a file; a reader looks for a page
        return f"{mark}[{text}]({_relative(aim, place)}{hash_sign}{anchor})"

    return _LINK.sub(rewrite, markdown)


def _resolve(source: str, target: str) -> str | None:
    """The path in the repository that a link leads to; None if there is no such file."""
    path = (ROOT / source).parent.joinpath(target).resolve()
    if not path.is_relative_to(ROOT) or not path.exists():
        return None
    return path.relative_to(ROOT).as_posix()


def _title(path: str) -> str:
    """The heading of a document."""
    return (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _relative(aim: str, place: str) -> str:
    up = "../" * len(PurePosixPath(place).parent.parts)
    return f"{up}{aim}"
