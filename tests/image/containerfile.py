"""Reads a Containerfile: its stages, and the steps of each."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

IGNORED = ("EXPOSE", "STOPSIGNAL", "HEALTHCHECK")
"""What says something to a container runtime, and makes nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction, with what follows it."""

    kind: str
    text: str

    @property
    def words(self) -> list[str]:
        """The arguments of COPY, ENTRYPOINT and CMD."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of ENV."""
        pairs = (word.partition("=") for word in shlex.split(self.text))
        return {name: value for name, _, value in pairs}


@dataclass(slots=True)
class Stage:
    """A stage: the image it begins with, and its steps."""

    base: str
    name: str
    steps: list[Step] = field(default_factory=list)


def read_stages(path: Path) -> list[Stage]:
    """Parse a file; an instruction that is not known here is an error."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    stages: list[Stage] = []
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        kind, _, text = line.strip().partition(" ")
        if kind == "FROM":
            base, _, name = text.partition(" AS ")
            stages.append(Stage(base=base, name=name or "final"))
        elif kind in ("RUN", "COPY", "ENV", "WORKDIR", "USER", "ENTRYPOINT", "CMD"):
            stages[-1].steps.append(Step(kind, text.strip()))
        elif kind and kind not in IGNORED:
            raise ValueError(f"Unknown instruction: {line}")
    return stages
