"""The judge: may a call run unasked? A pure function of the call, the ledger and the policy.

Once anything untrusted was read, a call that changes or sends something runs unasked only if

1. it matches a step of the run's plan that is not used up: the tool and every literal,
2. each sensitive argument is vouched for: a literal of that step, a field of the one record that a
   look-up step found, an id that this run made, a value that the person approved or wrote for this
   tool and argument, a name of a trusted catalogue beside the step's own words, or a whole value
   of a source that the person trusts, unless something secret was read and the call sends,
3. its texts contain no address that nobody vouched for, and
4. it does not send after something secret was read outside the plan.

The address of a call that only sends, such as a fetch, may also be one that the person typed, even
without a plan, or a link that stands whole in what the step that it refers to read.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from bathysphere.flow.addresses import addresses, comparable, disguised
from bathysphere.flow.declarations import FlowPolicy, ToolFlow
from bathysphere.flow.kinds import (
    ID_PREFIX,
    INSIDE,
    QUERY,
    SECRET,
    TEXT,
    UNNAMED,
    WHAT,
    WHERE,
    Kind,
    is_harmless_question,
    is_sensitive,
)
from bathysphere.flow.ledger import Ledger
from bathysphere.flow.occurrences import whole_occurrences
from bathysphere.flow.plan import LINK, Step
from bathysphere.flow.values import JSON, canonical, leaves

Why = Literal["unplanned", "used_up", "not_vouched", "address", "query", "secret"]
How = Literal[
    "literal", "found", "link", "made", "approved", "catalogue", "typed", "planned", "trusted"
]
_TEXT = "text "
"""How the canonical form of texts and numbers begins."""
_ADDRESS = (WHERE, UNNAMED)
"""Kinds of arguments that may be the address of a page."""


@dataclass(frozen=True)
class Call:
    """A call of a tool; its key is unique in the conversation."""

    key: str
    tool: str
    arguments: Mapping[str, JSON]


@dataclass(frozen=True)
class Reason:
    """Why a call does not run unasked; without an argument it is about the call itself."""

    why: Why
    argument: str | None = None
    value: JSON = None
    kind: Kind = UNNAMED
    said: bool = False
    """Whether the value stands in the person's words, which is not enough."""


@dataclass(frozen=True)
class Vouched:
    """A value that is vouched for, and how."""

    argument: str
    value: JSON
    kind: Kind
    how: How


@dataclass(frozen=True)
class Verdict:
    """Whether a call may run unasked, and the step that it uses."""

    reasons: tuple[Reason, ...] = ()
    vouched: tuple[Vouched, ...] = ()
    step: str | None = None

    @property
    def is_free(self) -> bool:
        """Whether the call may run unasked."""
        return not self.reasons


def judge(
    call: Call, ledger: Ledger, policy: FlowPolicy, *, run: str, is_tainted: bool = False
) -> Verdict:
    """Judge a call.

    Args:
        call: The call.
        ledger: What is known, with the claims of the whole tree.
        policy: What the tools do.
        run: The run whose plan applies.
        is_tainted: Assume that something untrusted was read.
    """
    tool = policy.of(call.tool)
    if not tool.is_gated:
        return Verdict()
    plan = {step.id: step for step in ledger.steps(run)}
    fitting = [step for step in plan.values() if step.matches(call.tool, call.arguments)]
    unused = [
        step for step in fitting if step.many or not ledger.uses(run, step.id, other_than=call.key)
    ]
    # The most specific step first, so that an open one is left for a call that needs it.
    unused.sort(key=lambda step: -len(step.arguments))
    verdicts = [_Check(call, tool, ledger, policy, run, plan, step).verdict() for step in unused]
    best = min(verdicts, key=lambda verdict: len(verdict.reasons), default=None)
    if not (is_tainted or ledger.has("untrusted")):
        return Verdict(step=best.step if best else None)
    if best is not None:
        return best
    check = _Check(call, tool, ledger, policy, run, plan, None)
    if _only_asks(call, tool):
        return check.question()
    if check.opens_typed_addresses():
        return Verdict(tuple(check.secret()))
    return check.verdict(Reason("used_up" if fitting else "unplanned"))


def _only_asks(call: Call, tool: ToolFlow) -> bool:
    """Whether a call sends a question at most; one without arguments sends nothing."""
    kinds = [tool.kind(name) for name in call.arguments]
    is_question = QUERY in kinds or not kinds
    return not tool.acts and is_question and all(map(is_harmless_question, kinds))


@dataclass(frozen=True)
class _Check:
    """A call beside the step that it would use."""

    call: Call
    tool: ToolFlow
    ledger: Ledger
    policy: FlowPolicy
    run: str
    plan: Mapping[str, Step]
    step: Step | None

    def verdict(self, *more: Reason) -> Verdict:
        reasons, vouched = [*more, *self.secret()], []
        for name, value in self.call.arguments.items():
            for found in self._argument(name, value):
                if isinstance(found, Reason):
                    reasons.append(found)
                else:
                    vouched.append(found)
        step = self.step.id if self.step else None
        return Verdict(tuple(reasons), tuple(vouched), step)

    def question(self) -> Verdict:
        """The verdict on a call that only asks something: no plan needed before secrets."""
        return Verdict(tuple(self.secret()) or tuple(self._queries()))

    def opens_typed_addresses(self) -> bool:
        """Whether a call only opens addresses that the person typed, which needs no plan."""
        values = [
            (self.tool.kind(n), leaf) for n, v in self.call.arguments.items() for leaf in leaves(v)
        ]
        if self.tool.acts or not self.tool.sends or not values:
            return False
        typed = self._typed()
        return all(kind in _ADDRESS and comparable(str(leaf)) in typed for kind, leaf in values)

    def secret(self) -> Iterator[Reason]:
        """The reason of a call that sends after something secret was read outside the plan."""
        if self.tool.sends and self.ledger.has("secret_unplanned"):
            yield Reason("secret")

    def _queries(self) -> Iterator[Reason]:
        for name, value in self.call.arguments.items():
            if self.tool.kind(name) == QUERY:
                yield from self._query(name, value)

    def _argument(self, name: str, value: JSON) -> Iterator[Reason | Vouched]:
        kind = self.tool.kind(name)
        if self._is_literal(name):
            for leaf in leaves(value):
                yield Vouched(name, leaf, kind, "literal")
        elif is_sensitive(kind):
            for leaf in leaves(value):
                how = self._voucher(name, leaf, kind)
                yield Vouched(name, leaf, kind, how) if how else self._missing(name, leaf, kind)
        elif kind == QUERY:
            yield from self._query(name, value)
        elif kind in (TEXT, INSIDE):
            yield from self._text(name, value, kind)
            if kind == INSIDE and self.step:
                yield Vouched(name, value, kind, "planned")

    def _is_literal(self, name: str) -> bool:
        """Whether the step has the whole value: it matches, so they are equal."""
        step = self.step
        return step is not None and name in step.arguments and name not in step.references

    # ── sensitive values ──

    def _voucher(self, name: str, leaf: JSON, kind: Kind) -> How | None:
        value = canonical(leaf)
        if self._is_referred_to(name, leaf, kind):
            return "found"
        if self._is_link(name, leaf, kind):
            return "link"
        if kind.startswith(ID_PREFIX) and value in self.ledger.made(self.run, kind):
            return "made"
        if value in self.ledger.approved(self.run, self.call.tool, name):
            return "approved"
        if kind == WHAT and self._is_named(leaf):
            return "catalogue"
        if kind in _ADDRESS and self._only_sends and comparable(str(leaf)) in self._typed():
            return "typed"
        return "trusted" if kind != SECRET and self._is_trusted(leaf) else None

    @property
    def _trusted_texts(self) -> list[str]:
        """The sources that the person trusts; they never vouch for what a secret may be in."""
        is_leak = self.tool.sends and self.ledger.has("secret")
        return [] if is_leak else self.ledger.trusted_texts

    def _is_trusted(self, leaf: JSON) -> bool:
        """Whether a value stands whole in a source that the person trusts."""
        value = canonical(leaf)
        if not value.startswith(_TEXT):
            return False
        wanted = {value.removeprefix(_TEXT), leaf if isinstance(leaf, str) else ""} - {""}
        places = (whole_occurrences(text, w) for text in self._trusted_texts for w in wanted)
        return any(True for found in places for _ in found)

    @property
    def _only_sends(self) -> bool:
        return self.step is not None and self.tool.sends and not self.tool.acts

    def _is_referred_to(self, name: str, leaf: JSON, kind: Kind) -> bool:
        """Whether a value is the field that the step refers to, or a literal beside it."""
        if self.step is None or (reference := self.step.reference(name)) is None:
            return False
        literals = {canonical(value) for value in leaves(self.step.arguments.get(name))}
        if canonical(leaf) in literals:
            return True
        found = self._kind_of(*reference)
        is_kind = found is not None and kind in (UNNAMED, found)
        values = {canonical(value) for value in leaves(self._field(*reference))}
        return is_kind and canonical(leaf) in values

    def _kind_of(self, step: str, name: str) -> Kind | None:
        """The kind of a field that a look-up step of the plan finds; None if it does not."""
        finds = self.policy.of(self.plan[step].tool).finds if step in self.plan else None
        return finds.fields.get(name) if finds else None

    def _field(self, step: str, name: str) -> JSON:
        return self.ledger.field_found(self.run, step, name)

    def _is_link(self, name: str, leaf: JSON, kind: Kind) -> bool:
        if not self._only_sends or kind not in _ADDRESS or self.step is None:
            return False
        reference = self.step.reference(name)
        if reference is None or reference[1] != LINK or reference[0] not in self.plan:
            return False
        return comparable(str(leaf)) in self.ledger.links(self.run, reference[0])

    def _is_named(self, leaf: JSON) -> bool:
        """Whether a value is one name of a catalogue, with whole literals of the step around."""
        if not isinstance(leaf, str) or self.step is None:
            return False
        names, value = self.ledger.names, leaf.strip(" ")
        own = [v for literal in self.step.arguments.values() for v in leaves(literal)]
        before = ["", *(f"{text} " for text in own if isinstance(text, str))]
        after = ["", *(f" {text}" for text in own if isinstance(text, str))]
        return any(
            value.startswith(start)
            and value.endswith(end)
            and value[len(start) : len(value) - len(end)] in names
            for start in before
            for end in after
        )

    def _typed(self) -> set[str]:
        return {comparable(a) for words in self.ledger.words for a in addresses(words)}

    # ── texts ──

    def _text(self, name: str, value: JSON, kind: Kind) -> Iterator[Reason]:
        known: set[str] | None = None
        for leaf in leaves(value):
            text = leaf if isinstance(leaf, str) else json.dumps(leaf, default=str)
            hidden = disguised(text)
            for address in dict.fromkeys([*addresses(text), *hidden]):
                known = self._known_addresses(name) if known is None else known
                if address in hidden or comparable(address) not in known:
                    yield Reason("address", name, address, kind, self._is_said(address))

    def _known_addresses(self, name: str) -> set[str]:
        """The addresses that somebody vouched for, for this text."""
        texts = [leaf for value in self._literals() for leaf in leaves(value)]
        texts += [*self._fields(), *self.ledger.names, *self._trusted_texts]
        known = {comparable(a) for text in texts for a in addresses(str(text))}
        return known | self._typed() | self.ledger.approved(self.run, self.call.tool, name)

    def _literals(self) -> list[JSON]:
        return list(self.step.arguments.values()) if self.step else []

    def _fields(self) -> list[JSON]:
        """The values that look-ups found for this step."""
        references = map(self.step.reference, self.step.references) if self.step else ()
        return [self._field(*r) for r in references if r and self._kind_of(*r) is not None]

    # ── reasons ──

    def _query(self, name: str, value: JSON) -> Iterator[Reason]:
        if self.ledger.has("secret"):
            yield Reason("query", name, value, QUERY)

    def _missing(self, name: str, leaf: JSON, kind: Kind) -> Reason:
        return Reason("not_vouched", name, leaf, kind, self._is_said(leaf))

    def _is_said(self, leaf: JSON) -> bool:
        text = canonical(leaf).removeprefix("text ")
        return any(text in words for words in self.ledger.words)
