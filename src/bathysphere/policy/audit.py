"""The audit of a plan: first the rules, which are final, then the questions they leave open.

`audit` is a pure function: the same plan under the same policy has the same verdict. `judge` adds
an auditor's answers, which decide open questions but never remove a rule's violation.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal
from urllib.parse import unquote_plus

from pydantic import BaseModel, ConfigDict

from bathysphere.policy.domains import ANY, any_covers, covers, host_of
from bathysphere.policy.plan import FETCH_PAGE, Plan, Step
from bathysphere.policy.rules import Policy

PROSE = "prose."
"""Prefix of the ids of questions about the policy's prose."""

Outcome = Literal["approved", "rejected", "open"]
"""No violations; violations; questions that no rule decides."""

RUN = 5
"""How many consecutive words of the user's attachments count as a leak."""

_SENSITIVE = {
    "email": re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.-]+"),
    "phone": re.compile(r"(?<![\w.])\+\d[\d ()/-]{7,}\d\b"),
    "secret": re.compile(
        r"\b(?:sk|pk|rk|ghp|gho|xox[abps]|AKIA|AIza|eyJ)[-_A-Za-z0-9]{16,}"
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
        r"|\b(?:password|passwd|api[ _-]?key|secret|token)\s*[:=]\s*\S{6,}",
        re.IGNORECASE,
    ),
    "card": re.compile(r"\b\d(?:[ -]?\d){12,18}\b"),
    "iban": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
}


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Violation(_Data):
    """A violation of the policy, found by a rule or a judgement.

    A judgement has the `question` that was judged.
    """

    rule: str
    message: str
    step: str | None = None
    decided_by: Literal["rule", "judgement"] = "rule"
    question: str = ""


class Suggestion(_Data):
    """How to fix a violation."""

    rule: str
    message: str
    step: str | None = None


class OpenQuestion(_Data):
    """A question that no rule decides."""

    rule: str
    question: str
    step: str | None = None


class Judgement(_Data):
    """An auditor's answer to one open question; `judge` adds the question."""

    rule: str
    allowed: bool
    reason: str = ""
    suggestion: str = ""
    question: str = ""


class Verdict(_Data):
    """The result of auditing a plan under a policy."""

    verdict: Outcome
    plan_sha256: str
    policy_sha256: str
    violations: tuple[Violation, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    open: tuple[OpenQuestion, ...] = ()
    judgements: tuple[Judgement, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the verdict as JSON data."""
        return self.model_dump(mode="json")


def audit(
    plan: Plan, policy: Policy, *, question: str = "", private: Iterable[str] = ()
) -> Verdict:
    """Check a plan against the rules.

    Args:
        plan: The plan.
        policy: The rules.
        question: The user's question; its words may be sent if the policy allows it.
        private: The user's attachments; their words may be sent if the policy allows it.
    """
    found: list[Violation | Suggestion | OpenQuestion] = [
        *_tools(plan, policy),
        *_limits(plan, policy),
        *_domains(plan, policy),
        *_sensitive(plan, policy),
        *_leaks(plan, policy, question, list(private)),
        *_content(plan, policy),
    ]
    found += [OpenQuestion(rule=f"judge.{q.id}", question=q.question) for q in policy.judge]
    found += [
        OpenQuestion(rule=f"{PROSE}{number}", question=sentence)
        for number, sentence in enumerate(policy.sentences, 1)
    ]
    violations = tuple(item for item in found if isinstance(item, Violation))
    opened = tuple(item for item in found if isinstance(item, OpenQuestion))
    return Verdict(
        verdict="rejected" if violations else "open" if opened else "approved",
        plan_sha256=plan.sha256,
        policy_sha256=policy.sha256,
        violations=violations,
        suggestions=tuple(item for item in found if isinstance(item, Suggestion)),
        open=opened,
    )


def judge(verdict: Verdict, judgements: Sequence[Judgement]) -> Verdict:
    """Add an auditor's answers; unrelated answers are ignored, a missing one counts as no.

    Of several answers to one question, a no counts.
    """
    answers = {one.rule: one for one in sorted(judgements, key=lambda one: not one.allowed)}
    violations, suggestions = list(verdict.violations), list(verdict.suggestions)
    for question in verdict.open:
        answer = answers.get(question.rule)
        if answer is None or not answer.allowed:
            reason = answer.reason if answer and answer.reason else "the auditor did not allow it"
            violations.append(
                Violation(
                    rule=question.rule,
                    message=reason,
                    step=question.step,
                    decided_by="judgement",
                    question=question.question,
                )
            )
        if answer and answer.suggestion:
            suggestions.append(
                Suggestion(rule=question.rule, message=answer.suggestion, step=question.step)
            )
    used = {
        question.rule: answers[question.rule].model_copy(update={"question": question.question})
        for question in verdict.open
        if question.rule in answers
    }
    return verdict.model_copy(
        update={
            "verdict": "rejected" if violations else "approved",
            "violations": tuple(violations),
            "suggestions": tuple(suggestions),
            "open": (),
            "judgements": tuple(used.values()),
        }
    )


# ── the rules ──

Found = Iterator[Violation | Suggestion]


def _tools(plan: Plan, policy: Policy) -> Found:
    allowed = policy.tools.allowed
    for step in plan.steps:
        if step.tool not in allowed:
            yield _against("tools.allowed", f"the tool {step.tool} is not allowed", step)
            yield Suggestion(
                rule="tools.allowed", message=f"use one of: {', '.join(allowed)}", step=step.id
            )
        elif step.pages and FETCH_PAGE not in allowed:
            yield _against("tools.allowed", "opens pages, but fetch_page is not allowed", step)


def _limits(plan: Plan, policy: Policy) -> Found:
    limits = policy.limits
    totals = [
        ("limits.steps", len(plan.steps), limits.steps, "steps"),
        ("limits.requests", plan.requests, limits.requests, "requests"),
        ("limits.tokens", plan.estimated_token_budget, limits.tokens, "tokens"),
    ]
    for rule, planned, most, what in totals:
        if planned > most:
            yield Violation(rule=rule, message=f"{planned} {what} are planned, {most} are allowed")
            yield Suggestion(rule=rule, message=f"plan at most {most} {what}")
    for step in plan.steps:
        if step.requests > limits.requests_per_step:
            most = limits.requests_per_step
            message = f"{step.requests} requests are planned, {most} are allowed in a step"
            yield _against("limits.requests_per_step", message, step)


def _domains(plan: Plan, policy: Policy) -> Found:
    for step in plan.steps:
        if step.tool == FETCH_PAGE:
            host = host_of(step.input)
            if host is None:
                message = "not the URL of a public page"
                yield _against("domains.address", message, step)
            else:
                yield from _host(host, step, policy)
        if step.pages and not step.domains:
            yield _against("domains.named", "opens pages but names no domain", step)
        for pattern in step.domains:
            yield from _host(pattern, step, policy)


def _host(host: str, step: Step, policy: Policy) -> Found:
    rules = policy.domains
    if host != ANY and any_covers(rules.denied, host):
        yield _against("domains.denied", f"{host} is denied", step)
    elif rules.allowed and not any(covers(pattern, host) for pattern in rules.allowed):
        what = "every domain" if host == ANY else host
        yield _against("domains.allowed", f"{what} is not among the allowed domains", step)
        yield Suggestion(
            rule="domains.allowed", message=f"stay within: {', '.join(rules.allowed)}", step=step.id
        )


def _sensitive(plan: Plan, policy: Policy) -> Found:
    for step in plan.steps:
        if not step.requests:
            continue
        for kind in policy.data.never:
            matches = _SENSITIVE[kind].finditer(_sent(step))
            if any(_is_real(kind, match.group()) for match in matches):
                yield _against("data.never", f"the input seems to contain: {kind}", step)
        for pattern in policy.data.never_matching:
            if re.search(pattern, _sent(step), re.IGNORECASE):
                message = "the input contains data that must not be sent"
                yield _against("data.never_matching", message, step)


def _leaks(plan: Plan, policy: Policy, question: str, private: Sequence[str]) -> Found:
    known = {"question": [question], "context": private}
    may = policy.data.may_leave
    open_runs = {run for kind in may for text in known[kind] for run in _runs(text)}
    closed = {kind: texts for kind, texts in known.items() if kind not in may}
    for step in plan.steps:
        sent = set(_runs(_sent(step))) - open_runs if step.requests else set()
        for kind, texts in closed.items():
            if any(sent & set(_runs(text)) for text in texts):
                message = f"the input repeats words of the {kind}, which must not be sent"
                yield _against("data.may_leave", message, step)
                yield Suggestion(
                    rule="data.may_leave", message="ask in general words", step=step.id
                )


def _content(plan: Plan, policy: Policy) -> Iterator[Violation | Suggestion | OpenQuestion]:
    texts: list[tuple[Step | None, str]] = [(None, folded(plan.objective))]
    texts += [(step, folded(f"{step.input}\n{step.rationale}")) for step in plan.steps]
    for step, text in texts:
        name = step.id if step else None
        for term in policy.content.denied_terms:
            if re.search(rf"(?<!\w){re.escape(folded(term))}(?!\w)", text):
                yield Violation(
                    rule="content.denied_terms", message=f"it is about {term!r}", step=name
                )
        for rule in policy.content.rule:
            if not re.search(rule.pattern, text, re.IGNORECASE):
                continue
            key = f"content.{rule.id}"
            if rule.decide == "ask":
                yield OpenQuestion(rule=key, question=rule.message, step=name)
            else:
                yield Violation(rule=key, message=rule.message, step=name)
                if rule.suggestion:
                    yield Suggestion(rule=key, message=rule.suggestion, step=name)


def _sent(step: Step) -> str:
    """Return the text that is sent, as written and percent-decoded."""
    decoded = unquote_plus(step.input)
    return step.input if decoded == step.input else f"{step.input}\n{decoded}"


def _against(rule: str, message: str, step: Step) -> Violation:
    return Violation(rule=rule, message=message, step=step.id)


def folded(text: str) -> str:
    """Normalise a text for matching: NFKC, no invisible characters, case-folded, single spaces."""
    normal = unicodedata.normalize("NFKC", text)
    seen = "".join(letter for letter in normal if unicodedata.category(letter) != "Cf")
    return " ".join(seen.casefold().split())


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", folded(text))
    for at in range(len(words) - RUN + 1):
        yield tuple(words[at : at + RUN])


def _is_real(kind: str, text: str) -> bool:
    """Whether a match is real: a card number has a check digit, other kinds are not checked."""
    if kind != "card":
        return True
    digits = [int(letter) for letter in text if letter.isdigit()]
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
