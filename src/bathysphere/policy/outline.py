"""What was understood of a policy, as lines for a person."""

from collections.abc import Iterator

from bathysphere.policy.rules import Policy

_TABLES = ("tools", "domains", "limits", "data")
EVERY_SITE = "every public site that is not denied"


def rule_lines(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield each rule that code enforces: its name, as in the audit, and its value."""
    for table in _TABLES:
        for key, value in getattr(policy, table).model_dump().items():
            yield f"{table}.{key}", _words(f"{table}.{key}", value)
    yield "content.denied_terms", _words("", policy.content.denied_terms)
    for rule in policy.content.rule:
        if rule.decide == "deny":
            yield f"content.{rule.id}", f"{rule.message} (pattern: {rule.pattern})"


def question_lines(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield each question that the rules put to the auditor."""
    for rule in policy.content.rule:
        if rule.decide == "ask":
            yield f"content.{rule.id}", f"{rule.message} (where a plan matches: {rule.pattern})"
    for question in policy.judge:
        yield f"judge.{question.id}", question.question


def _words(name: str, value: int | tuple[str, ...]) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if name == "domains.allowed" and not value:
        return EVERY_SITE
    return ", ".join(value) or "none"
