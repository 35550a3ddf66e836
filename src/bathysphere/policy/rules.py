"""POLICY.md: rules in fenced blocks, which code checks, and sentences, which the auditor judges.

The rules are TOML. All blocks of the file are read as one; an unknown key is an error, so that a
misspelt rule never silently allows. A file without a block has the rules that ship.
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
from bathysphere.policy.document import START, split
from bathysphere.policy.domains import clean_pattern
from bathysphere.policy.errors import BadPolicy
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH
from bathysphere.policy.prose import sentences_of

RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
DataKind = Literal["question", "context"]
"""The user's question; their attachments (files, notes and snippets)."""


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
    """The rules of a policy, and the sentences that the auditor is asked about.

    Attributes:
        sentences: Sentences of the prose; they add questions and change no rule.
        has_own_rules: Whether the rules are the file's own and not the ones that ship.
        sha256: The hash of all that decides: the file, and the shipped one if its rules apply.
    """

    version: Literal[1]
    tools: ToolRules = ToolRules()
    domains: DomainRules = DomainRules()
    limits: LimitRules = LimitRules()
    data: DataRules = DataRules()
    content: ContentRules = ContentRules()
    judge: tuple[Question, ...] = ()
    sentences: tuple[str, ...] = ()
    has_own_rules: bool = True
    sha256: str = ""

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [rule.id for rule in self.content.rule] + [question.id for question in self.judge]
        if len(set(ids)) != len(ids):
            raise ValueError("Duplicate rule id")
        return self


_NOT_RULES = {"sentences", "has_own_rules", "sha256"}


def read_policy(text: str) -> Policy:
    """Parse the policy of a POLICY.md.

    Raises:
        BadPolicy: Neither rules nor sentences, a block that is not one of rules, invalid TOML, an
            unknown key, an invalid value, or too much prose.
    """
    document = split(text)
    sentences = sentences_of(document.prose)
    if document.rules is not None:
        rules = _rules(document.rules)
        return rules.model_copy(update={"sentences": sentences, "sha256": _hash(text)})
    if not sentences:
        raise BadPolicy(
            "The policy is empty",
            hint=f"write sentences, or rules in a block that starts with {START}",
        )
    shipped = default_policy_text()
    update = {"sentences": sentences, "has_own_rules": False, "sha256": _hash(shipped + text)}
    return default_policy().model_copy(update=update)


def default_policy_text() -> str:
    """Return the text of the default POLICY.md."""
    return (files("bathysphere.policy") / "POLICY.md").read_text(encoding="utf-8")


def default_policy() -> Policy:
    """Return the default policy; its prose explains its rules, and asks nothing."""
    text = default_policy_text()
    rules = _rules(split(text).rules or "")
    return rules.model_copy(update={"has_own_rules": False, "sha256": _hash(text)})


def _rules(toml: str) -> Policy:
    try:
        rules = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        hint = "correct the blocks of rules; together they are one TOML document"
        raise BadPolicy(f"Invalid TOML in the rules: {error}", hint=hint) from error
    if own := _NOT_RULES & set(rules):
        raise BadPolicy(f"Unknown rules: {sorted(own)}", hint=_KEYS)
    try:
        return Policy.model_validate(rules)
    except ValidationError as error:
        raise BadPolicy("; ".join(_in_words(error)), hint=_KEYS) from error


_KEYS = "the keys and their values are listed in docs/policy.md"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8"))


def _in_words(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, found['loc'])) or 'policy'}: {found['msg']}"
        for found in error.errors(include_url=False)
    ]
