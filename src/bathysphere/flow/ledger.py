"""The ledger: what a conversation's calls may rely on, as data that agents merge.

Every agent of a tree has a copy, in its state; a copy is merged when a subagent starts or returns,
and when parallel calls end. Entries are only ever added, each under its own key, so the order does
not matter and a repeated step adds nothing. An entry that was written twice with different values
is void (`None`), and vouches for nothing. A mark and a claim count by being there at all.

| entry | keys |
|---|---|
| `said` | message → the person's words |
| `plans` | run → its steps, as text |
| `claims`, `released` | call → the step it uses; calls that were refused |
| `found` | run → look-up step → fields of the one record, as text |
| `links` | run → step → the links that stand in what it read |
| `made` | run → kind → the ids that the run created |
| `approved` | run → tool → argument → values that the person approved or wrote |
| `names` | names of trusted catalogues |
| `trusts` | trust → a source that the person trusts in this conversation, as text |
| `revoked` | trusts that the person took back |
| `quoted` | links in a subagent's answer that stand whole in what it read |
| `refused` | run → calls that the person refused |
| `marks` | `untrusted`, `secret` and `secret_unplanned`: such a source was read |
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

from bathysphere.flow.addresses import addresses, comparable
from bathysphere.flow.kinds import TEXT, Kind
from bathysphere.flow.plan import Step, steps_from_text, steps_text
from bathysphere.flow.values import JSON, canonical, leaves

Entries = dict[str, Any]
"""A ledger, or an addition to one, as JSON data."""

Mark = Literal["untrusted", "secret", "secret_unplanned"]


def merge(left: Entries | None, right: Entries | None) -> Entries:
    """Merge two ledgers: commutative, associative and idempotent."""
    return _join(left or {}, right or {}) or {}


def merge_writes(ledger: Entries | None, writes: Sequence[Entries | None]) -> Entries:
    """Merge additions into a ledger, as the reducer of a channel."""
    return reduce(merge, writes, ledger or {})


def additions(new: Entries, old: Entries) -> Entries:
    """What must be merged into `old` to have all of `new`."""
    added: Entries = {}
    for key, value in new.items():
        if key not in old:
            added[key] = value
        elif isinstance(value, dict) and isinstance(old[key], dict):
            if inner := additions(value, old[key]):
                added[key] = inner
        elif value != old[key]:
            added[key] = value
    return added


def _join(left: Any, right: Any) -> Any:
    if left is right:  # most of two ledgers of a conversation is shared
        return left
    if isinstance(left, dict) and isinstance(right, dict):
        joined = {**left, **right}
        if len(joined) < len(left) + len(right):
            for key in left.keys() & right.keys():
                if left[key] is not right[key]:
                    joined[key] = _join(left[key], right[key])
        return joined
    return left if type(left) is type(right) and left == right else None


@dataclass(frozen=True)
class Ledger:
    """A view of a ledger's entries."""

    entries: Entries = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """Every message that the person wrote."""
        return [text for text in self._at("said").values() if isinstance(text, str)]

    def has(self, mark: Mark) -> bool:
        """Whether such a source was read."""
        return mark in self._at("marks")

    def is_planned(self, run: str) -> bool:
        """Whether a plan was made for a run, even an empty one."""
        return run in self._at("plans")

    def steps(self, run: str) -> list[Step]:
        """The steps of a run's plan."""
        text = self._at("plans").get(run)
        return steps_from_text(text) if isinstance(text, str) else []

    def uses(self, run: str, step: str, *, other_than: str = "") -> int:
        """How many calls use a step."""
        key, released = step_key(run, step), self._at("released")
        return sum(
            call != other_than and released.get(call) is not True and (used is None or key in used)
            for call, used in self._at("claims").items()
        )

    def field_found(self, run: str, step: str, name: str) -> JSON:
        """A field of the record that a look-up step found; None if there is not exactly one."""
        text = self._at("found", run).get(step)
        return json.loads(text).get(name) if isinstance(text, str) else None

    def links(self, run: str, step: str) -> set[str]:
        """The links that stand in what a step read, in comparable form."""
        return _present(self._at("links", run, step))

    def made(self, run: str, kind: Kind) -> set[str]:
        """The ids of a kind that a run created, in canonical form."""
        return _present(self._at("made", run, kind))

    def approved(self, run: str, tool: str, argument: str) -> set[str]:
        """The values that the person approved for a tool's argument, in canonical form."""
        return _present(self._at("approved", run, tool, argument))

    @property
    def names(self) -> set[str]:
        """The names of trusted catalogues."""
        return _present(self._at("names"))

    @property
    def trusts(self) -> dict[str, dict[str, Any]]:
        """The sources that the person trusts, by trust; those taken back are left out."""
        revoked = self._at("revoked")
        return {
            key: json.loads(text)
            for key, text in self._at("trusts").items()
            if isinstance(text, str) and key not in revoked
        }

    @property
    def trusted_texts(self) -> list[str]:
        """What stands in the sources that the person trusts."""
        return [text for trust in self.trusts.values() for text in trust["texts"]]

    @property
    def quoted(self) -> set[str]:
        """The links that subagents quoted from what they read, in comparable form."""
        return _present(self._at("quoted"))

    def refusals(self, run: str) -> int:
        """How many calls of a run the person refused."""
        return len(self._at("refused", run))

    def _at(self, *path: str) -> Mapping[str, Any]:
        at: Mapping[str, Any] = self.entries
        for key in path:
            inner = at.get(key)
            if not isinstance(inner, dict):
                return {}
            at = inner
        return at


def step_key(run: str, step: str) -> str:
    """The key of a step in claims."""
    return f"{run} {step}"


def _present(values: Mapping[str, Any]) -> set[str]:
    return {value for value, is_there in values.items() if is_there is True}


def _marked(values: Iterable[str]) -> dict[str, bool]:
    return dict.fromkeys(values, True)


# ── additions ──


def said(message: str, words: str) -> Entries:
    """The person said something."""
    return {"said": {message: words}}


def planned(run: str, steps: Iterable[Step]) -> Entries:
    """The plan of a run, made from the person's words alone."""
    return {"plans": {run: steps_text(steps)}}


def claimed(run: str, step: str, call: str) -> Entries:
    """A call uses a step."""
    return {"claims": {call: {step_key(run, step): True}}}


def refused(run: str, call: str) -> Entries:
    """The person refused a call; the step that it would have used is free again."""
    return {"refused": {run: {call: True}}, "released": {call: True}}


def approved(
    run: str, tool: str, arguments: Mapping[str, JSON], kinds: Mapping[str, Kind]
) -> Entries:
    """The person approved a call, or wrote it: its values, and the addresses in its texts."""
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        known = [canonical(leaf) for leaf in leaves(value)]
        if kinds.get(name) == TEXT:
            known = [comparable(a) for leaf in leaves(value) for a in addresses(str(leaf))]
        if known:
            values[name] = _marked(known)
    return {"approved": {run: {tool: values}}}


def found(run: str, step: str, fields: Mapping[str, JSON]) -> Entries:
    """A look-up step found the one record; another one later makes the entry void."""
    return {"found": {run: {step: json.dumps(fields, sort_keys=True, default=str)}}}


def linked(run: str, step: str, links: Iterable[str]) -> Entries:
    """Links that stand in what a step read."""
    return {"links": {run: {step: _marked(map(comparable, links))}}}


def made(run: str, kind: Kind, value: JSON) -> Entries:
    """A call of the run created an id."""
    return {"made": {run: {kind: {canonical(value): True}}}}


def named(names: Iterable[str]) -> Entries:
    """Names of a trusted catalogue."""
    return {"names": _marked(names)}


def quoted(links: Iterable[str]) -> Entries:
    """Links of a subagent's answer that stand whole in what it read."""
    return {"quoted": _marked(map(comparable, links))}


def marked(*marks: Mark) -> Entries:
    """Such sources were read."""
    return {"marks": _marked(marks)}


def trusted(call: str, source: str, name: str, texts: Iterable[str]) -> Entries:
    """The person trusts a source, as it was read, while they approve a call.

    The call is part of the key: trusting the source again after taking it back is another trust.
    """
    fields = {"source": source, "name": name, "texts": list(texts)}
    return {"trusts": {f"{call} {source}": json.dumps(fields, sort_keys=True)}}


def revoked(trusts: Iterable[str]) -> Entries:
    """The person takes trusts back, for good."""
    taken = _marked(trusts)
    return {"revoked": taken} if taken else {}
