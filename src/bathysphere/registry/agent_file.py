"""The format of `agent.toml`, and its errors: each with the file, the line and what to write."""

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from langchain.agents.middleware.human_in_the_loop import DecisionType
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)
from pydantic_core import ErrorDetails

from bathysphere.core.errors import ConfigError
from bathysphere.core.usage import Limits
from bathysphere.middleware.approvals import ApprovalMode
from bathysphere.models.names import parse
from bathysphere.registry.errors import LoadError
from bathysphere.registry.toml_lines import TomlLines

DECISIONS: tuple[str, ...] = get_args(DecisionType)
_ELSEWHERE = {
    "mcp_servers": "configure MCP servers in an mcp.json, and name them with the key mcp",
    "prompt": "write the prompt to prompt.md",
    "skills": "put skills in the folder skills/",
    "model": "use [models] with main, subagent and summary",
}
"""Keys that people try, and what to do instead."""
_LINE = re.compile(r"\(at line (\d{1,9}), column \d{1,9}\)|\(at end of document\)")


def _model_name(value: str) -> str:
    try:
        parse(value)
    except ConfigError as error:
        raise ValueError(f"{error.message}; {error.hint}") from error
    return value


def _approval(value: Any) -> Any:
    if isinstance(value, bool) or (
        isinstance(value, list) and value and all(each in DECISIONS for each in value)
    ):
        return value
    raise ValueError(f"use true, or a list of decisions: {', '.join(DECISIONS)}")


ModelNameText = Annotated[str, AfterValidator(_model_name)]
ApprovalValue = Annotated[Any, AfterValidator(_approval)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelsTable(_Table):
    """`[models]`: models by role, in place of those of the settings."""

    main: ModelNameText | None = None
    subagent: ModelNameText | None = None
    summary: ModelNameText | None = None


class LimitsTable(_Table):
    """`[limits]`: the fields of `Limits`."""

    model_calls: PositiveInt | None = None
    tool_calls: PositiveInt | None = None
    tokens: PositiveInt | None = None
    seconds: PositiveFloat | None = None
    subagent_seconds: PositiveFloat | None = None
    tool_seconds: PositiveFloat | None = None

    def limits(self) -> Limits:
        """The limits; those that are not set have their default."""
        return Limits(**self.model_dump(exclude_none=True))


class SubagentTable(_Table):
    """`[subagents.NAME]`."""

    description: str | None = None
    prompt: str | None = None
    tools: list[str] | None = None
    model: ModelNameText | None = None


class AgentFile(_Table):
    """An `agent.toml`."""

    name: str | None = None
    description: str = ""
    tools: list[str] = Field(default_factory=list)
    mcp: list[str] = Field(default_factory=list)
    max_questions: PositiveInt = 3
    models: ModelsTable = Field(default_factory=ModelsTable)
    approvals: dict[str, ApprovalValue] = Field(default_factory=dict)
    approval_mode: ApprovalMode = "per_call"
    flow: bool = True
    limits: LimitsTable = Field(default_factory=LimitsTable)
    subagents: dict[str, SubagentTable] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSource:
    """A valid `agent.toml` and where its keys are."""

    file: Path
    label: str
    """The file's name in messages."""
    content: AgentFile
    lines: TomlLines

    def error(self, problem: str, *place: str | int) -> LoadError:
        """The error for a problem with a key or one of its items."""
        return LoadError(
            f"{self.label}:{self.lines.line_of(place)}: {problem}", hint=f"correct {self.label}"
        )


def read_agent_file(file: Path, *, label: str) -> AgentSource:
    """Read and check an `agent.toml`.

    Raises:
        LoadError: It is not valid; the message names the file and the line of each mistake.
    """
    text = read_text(file, label=label)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(label, str(error), text) from error
    lines = TomlLines(text, data)
    try:
        content = AgentFile.model_validate(data)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise LoadError(
            "\n".join(_problems(label, lines, problems)), hint=f"correct {label}"
        ) from error
    return AgentSource(file=file, label=label, content=content, lines=lines)


def read_text(file: Path, *, label: str) -> str:
    """Read a file of an agent folder.

    Raises:
        LoadError: It does not exist, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise LoadError(f"File not found: {label}", hint="create it") from error
    except UnicodeDecodeError as error:
        raise LoadError(f"{label}: Not UTF-8", hint=f"save {label} as UTF-8") from error


def _syntax_error(label: str, message: str, text: str) -> LoadError:
    found = _LINE.search(message)
    line = found.group(1) if found and found.group(1) else len(text.splitlines()) or 1
    return LoadError(
        f"{label}:{line}: Invalid TOML: {_LINE.sub('', message).rstrip()}", hint=f"correct {label}"
    )


def _problems(label: str, lines: TomlLines, problems: Sequence[ErrorDetails]) -> list[str]:
    """One sentence per mistake, in the order of their lines."""
    found = {(lines.line_of(each["loc"]), _sentence(each)): None for each in problems}
    return [f"{label}:{line}: {sentence}" for line, sentence in sorted(found)]


def _sentence(problem: ErrorDetails) -> str:
    place = problem["loc"]
    if problem["type"] == "extra_forbidden":
        return _unknown_key(str(place[-1]), _keys_of(place[:-1]))
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    message = problem["msg"].removeprefix("Value error, ")
    return f"'{name}': {message[:1].upper()}{message[1:]}"


def _unknown_key(key: str, known: list[str]) -> str:
    if key in _ELSEWHERE and key not in known:
        return f"Unknown key '{key}'; {_ELSEWHERE[key]}"
    return f"Unknown key '{key}'; {suggestion(key, known, 'the keys are')}"


def _keys_of(table: tuple[int | str, ...]) -> list[str]:
    """The keys of a table; of `[subagents.NAME]`, whatever its name."""
    tables: dict[str, type[BaseModel]] = {
        "models": ModelsTable,
        "limits": LimitsTable,
        "subagents": SubagentTable,
    }
    model = tables[str(table[0])] if table else AgentFile
    return list(model.model_fields)


def suggestion(word: str, known: Sequence[str], introduction: str) -> str:
    """What was probably meant, or else everything that is known."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"{introduction} {', '.join(known)}"
