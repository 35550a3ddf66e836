"""`bathysphere new`: write a project that works at once."""

import argparse
import re
from pathlib import Path

from bathysphere.core.errors import CallerError

HELP = "write a new project: an agent with a tool, tests and a container file"
FILES = {
    "agents/{{name}}/agent.toml": "agent.toml",
    "agents/{{name}}/prompt.md": "prompt.md",
    "agents/{{name}}/tools.py": "tools.py",
    "agents/{{name}}/skills/summarize/SKILL.md": "SKILL.md",
    "agents/{{name}}/tests/test_{{module}}.py": "test_agent.py",
    "langgraph.json": "langgraph.json",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
    ".containerignore": "containerignore",
    "requirements.txt": "requirements.txt",
    "Containerfile": "Containerfile",
    "README.md": "README.md",
}
"""Path in the project → template in the folder `project` of this package."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,49}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `new NAME`."""
    parser.add_argument("name", metavar="NAME", help="name of the project's folder and its agent")


def run(args: argparse.Namespace) -> int:
    """Write the project into a new folder."""
    folder = Path(args.name)
    write_project(folder, name=args.name)
    print(f"Created {folder}/ with the agent {args.name}.")
    print(f"Next: cd {folder} && bathysphere dev")
    return 0


def write_project(folder: Path, *, name: str) -> None:
    """Write the files of a new project.

    Raises:
        CallerError: The name cannot be used, or the folder has files already.
    """
    from importlib.resources import files

    from bathysphere import __version__
    from bathysphere.registry.entry_points import registrations

    if not _NAME.fullmatch(name):
        raise CallerError(
            f"Invalid name: {name!r}",
            hint="start with a letter, then letters, digits, '-' and '_', at most 50",
        )
    if name in registrations():
        raise CallerError(f"'{name}' is the name of an installed agent", hint="choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "choose another name, or empty the folder"
        raise CallerError(f"{folder} exists and is not an empty folder", hint=hint)
    values = {"name": name, "module": name.replace("-", "_"), "version": __version__}
    templates = files("bathysphere.cli").joinpath("project")
    for place, template in FILES.items():
        file = folder / _fill(place, values)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = templates.joinpath(f"{template}.tmpl").read_text(encoding="utf-8")
        file.write_text(_fill(text, values), encoding="utf-8")


def _fill(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text
