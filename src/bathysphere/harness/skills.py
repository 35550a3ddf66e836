"""Folders of skills: where agents find them, and how they are checked.

deepagents skips a skill that it cannot read; an operator should be told instead.
"""

from dataclasses import dataclass
from pathlib import Path

from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import BackendProtocol

from bathysphere.backends.read_only import ReadOnlyFolder

SKILLS_PATH = "/skills/"
"""Where the agent finds its skills among its files."""
SKILL_FILE = "SKILL.md"

_FENCE = "---"
_START = "start it with lines: ---, name: …, description: …, ---"


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillProblem:
    """What is wrong with a skill, on which line, and what to do."""

    line: int
    message: str
    hint: str


def skills_in(folder: Path) -> list[Path]:
    """The folders of the skills."""
    return [each for each in sorted(folder.glob("*")) if each.is_dir()]


def with_skills(files: BackendProtocol, folder: Path) -> BackendProtocol:
    """The files of an agent with a folder of skills among them, which it can read only."""
    return CompositeBackend(files, {SKILLS_PATH: ReadOnlyFolder(folder)})


def skill_problem(name: str, content: str) -> SkillProblem | None:
    """The problem with the skill in this folder, if there is one."""
    text = [line.rstrip() for line in content.splitlines()]
    if not text or text[0] != _FENCE or _FENCE not in text[1:]:
        return SkillProblem(line=1, message="No front matter", hint=_START)
    lines = text[1 : text.index(_FENCE, 1)]
    values = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    for key in ("name", "description"):
        if not values.get(key):
            return SkillProblem(line=1, message=f"The front matter has no '{key}'", hint=_START)
    if (given := values["name"].strip("\"'")) == name:
        return None
    line = next(n for n, text in enumerate(lines, 2) if text.startswith("name"))
    message = f"The name '{given}' differs from its folder '{name}'"
    return SkillProblem(line=line, message=message, hint="rename one of them")
