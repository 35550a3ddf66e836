"""POLICY.md: prose for people, with rules in fenced blocks.

The rules are TOML in blocks that start with ` ```toml policy `. All such blocks of the file are
read as one; an unknown key is an error, so that a misspelt rule never silently allows.
"""

import re
import tomllib
from importlib.resources import files
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from bathysphere.core.canonical import sha256
from bathysphere.core.errors import ConfigError
from bathysphere.policy.domains import clean_pattern
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH

_FENCE = re.compile(r"^```toml policy[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)

RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
DataKind = Literal["question", "context"]
"""The user's question; their attachments (files, notes and snippets)."""


class BadPolicy(ConfigError):
    """POLICY.md is invalid."""

    code = "bad_policy"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a valid pattern: {error}") from error
    return text


def _domains(domains: tuple[str, ...]) -> tuple[str, ...]:
    cleaned = [(domain, clean_pattern(domain)) for domain in domains]
    if bad := [domain for domain, pattern in cleaned if pattern is None]:
        raise ValueError(f"Invalid host names: {bad}")
    return tuple(pattern for _, pattern in cleaned if pattern)


Pattern = Annotated[str, AfterValidator(_pattern)]
Domains = Annotated[tuple[str, ...], AfterValidator(_domains)]


class _Rules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolRules(_Rules):
    """The tools that a plan may use."""

    allowed: tuple[str, ...] = (WEB_SEARCH, FETCH_PAGE, SEARCH_CORPUS, READ_CONTEXT)


class DomainRules(_Rules):
    """The domains on which pages may be opened. An empty `allowed` allows all but `denied`."""

    allowed: Domains = ()
    denied: Domains = ()


class LimitRules(_Rules):
    """Limits of one plan."""

    steps: int = Field(default=12, ge=1)
    requests: int = Field(default=60, ge=0)
    requests_per_step: int = Field(default=12, ge=0)
    tokens: int = Field(default=200_000, ge=0)
    revisions: int = Field(default=3, ge=1)


class DataRules(_Rules):
    """The data that may be sent in a query or URL."""

    may_leave: tuple[DataKind, ...] = ("question",)
    never: tuple[Literal["email", "phone", "secret", "card", "iban"], ...] = (
        "email",
        "phone",
        "secret",
        "card",
        "iban",
    )
    never_matching: tuple[Pattern, ...] = ()


class ContentRule(_Rules):
    """A pattern in the text of a plan; `ask` leaves the decision to the auditor."""

    id: RuleId
    pattern: Pattern
    message: str
    suggestion: str = ""
    decide: Literal["deny", "ask"] = "deny"


class ContentRules(_Rules):
    """Rules on the content of a plan."""

    denied_terms: tuple[str, ...] = ()
    rule: tuple[ContentRule, ...] = ()


class Question(_Rules):
    """A question to the auditor for every plan, which no rule can decide."""

    id: RuleId
    question: str


class Policy(_Rules):
    """The rules of a POLICY.md, and the prose around them."""

    version: Literal[1]
    tools: ToolRules = ToolRules()
    domains: DomainRules = DomainRules()
    limits: LimitRules = LimitRules()
    data: DataRules = DataRules()
    content: ContentRules = ContentRules()
    judge: tuple[Question, ...] = ()
    prose: str = ""
    sha256: str = ""

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [rule.id for rule in self.content.rule] + [question.id for question in self.judge]
        if len(set(ids)) != len(ids):
            raise ValueError("Duplicate rule id")
        return self


def read_policy(text: str) -> Policy:
    """Parse the policy of a POLICY.md.

    Raises:
        BadPolicy: No block of rules, invalid TOML, an unknown key or an invalid value.
    """
    blocks = _FENCE.findall(text)
    if not blocks:
        raise BadPolicy(
            "The policy contains no rules",
            hint="put them in a block that starts with ```toml policy",
        )
    try:
        rules = tomllib.loads("\n".join(blocks))
    except tomllib.TOMLDecodeError as error:
        raise BadPolicy(f"Invalid TOML: {error}") from error
    if own := {"prose", "sha256"} & set(rules):
        raise BadPolicy(f"Unknown rules: {sorted(own)}")
    prose = _FENCE.sub("", text).strip()
    try:
        return Policy.model_validate(
            rules | {"prose": prose, "sha256": sha256(text.encode("utf-8"))}
        )
    except ValidationError as error:
        raise BadPolicy("; ".join(_in_words(error))) from error


def default_policy_text() -> str:
    """Return the text of the default POLICY.md."""
    return (files("bathysphere.policy") / "POLICY.md").read_text(encoding="utf-8")


def default_policy() -> Policy:
    """Return the default policy."""
    return read_policy(default_policy_text())


def _in_words(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, found['loc'])) or 'policy'}: {found['msg']}"
        for found in error.errors(include_url=False)
    ]
