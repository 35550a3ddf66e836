"""Bugs planted in flow control: the attacks notice each of them.

A mutation breaks one thing and names the family and the mode that must notice. To add one, write a
function that plants it and a row in `MUTATIONS`.
"""

import sys
import unicodedata
from dataclasses import dataclass

import pytest
from attack_families import BENIGN, FAMILIES
from attack_world import Bench

from bathysphere.core.invisible import without_invisible
from bathysphere.flow import Ledger, ToolFlow, judge, ledger, records, values
from bathysphere.flow.plan import Step
from bathysphere.harness import flow as declared
from bathysphere.middleware.flow import middleware, planning, results
from bathysphere.middleware.flow.claims import Claims, claims

BY_NAME = {family.name: family for family in (*FAMILIES, *BENIGN)}
JUDGE = sys.modules[judge.__module__]  # its name in the package is the function


@dataclass(frozen=True)
class Mutation:
    plant: object
    family: str
    mode: str = "sync"


def drop_join(patch):
    """What a subagent learned does not come back."""
    real = results.with_additions

    def without(result, added, entries):
        update = getattr(result, "update", None)
        if isinstance(update, dict):
            update.pop("flow", None)
        return real(result, added, entries)

    patch.setattr(middleware, "with_additions", without)


def drop_marks(patch):
    """Reading is not noticed."""
    patch.setattr(results, "_marks", lambda tool, is_planned: {})


def forget_sink(patch):
    """A tool that only sends is not looked at."""
    patch.setattr(ToolFlow, "is_gated", property(lambda self: self.acts))


def trust_the_undeclared(patch):
    """A tool that nobody declared does nothing."""
    patch.setattr(declared, "UNDECLARED", ToolFlow(acts=False, sends=False))


def keep_claims_apart(patch):
    """Each agent has claims of its own."""

    def own(run):
        made = Claims(run)
        made._is_complete = True
        return made

    patch.setattr(claims, "of", own)


def ignore_claims(patch):
    """A step is never used up."""
    patch.setattr(Ledger, "uses", lambda self, run, step, other_than="": 0)


def keep_released(patch):
    """A refused call still uses its step."""
    real = Ledger.uses

    def uses(self, run, step, other_than=""):
        kept = {k: v for k, v in self.entries.items() if k != "released"}
        return real(Ledger(kept), run, step, other_than=other_than)

    patch.setattr(Ledger, "uses", uses)


def fold_look_alikes(patch):
    """Values are compared as they look."""
    real = values._text
    patch.setattr(
        values, "_text", lambda v: real(unicodedata.normalize("NFKC", without_invisible(v)))
    )


def accept_parts(patch):
    """A value that stands in the person's words is vouched for."""
    real = JUDGE._Check._voucher

    def voucher(self, name, leaf, kind):
        return real(self, name, leaf, kind) or ("typed" if self._is_said(leaf) else None)

    patch.setattr(JUDGE._Check, "_voucher", voucher)


def accept_late_plan(patch):
    """A plan that the agent commits after reading replaces the person's."""
    real = middleware._decided

    def decided(response, turn, policy):
        if steps := middleware.read_plan(response):
            plan = ledger.planned(turn.run, steps)
            turn.known = {**turn.known, **plan}
            turn.added = {**turn.added, **plan}
        return real(response, turn, policy)

    patch.setattr(middleware, "_decided", decided)


def keep_old_plans(patch):
    """A plan holds for later messages, too."""
    real = Ledger.steps
    patch.setattr(
        Ledger, "steps", lambda self, run: [s for r in self._at("plans") for s in real(self, r)]
    )


def ignore_literals(patch):
    """A step matches every call of its tool."""
    patch.setattr(Step, "differences", lambda self, arguments: [])


def mix_ids(patch):
    """An id of one type is one of every type."""
    patch.setattr(
        Ledger,
        "made",
        lambda self, run, kind: {
            v for k in self._at("made", run) for v in self._at("made", run, k)
        },
    )


def spread_approvals(patch):
    """What was approved for one tool is approved for every tool."""
    patch.setattr(
        Ledger,
        "approved",
        lambda self, run, tool, argument: {
            v
            for t in self._at("approved", run)
            for a in self._at("approved", run, t)
            for v in self._at("approved", run, t, a)
        },
    )


def take_last_record(patch):
    """Of several records of one name the last is taken."""
    real = records.records
    patch.setattr(records, "records", lambda data, name: real(data, name)[-1:])


def accept_any_look_up(patch):
    """A look-up vouches for its field whoever chose the name."""
    real = results._found

    def found(tool, steps, arguments, data, run):
        return real(tool, [Step("s1", "find_contact", arguments)], arguments, data, run)

    patch.setattr(results, "_found", found)


def miss_links(patch):
    """Texts are not searched for addresses."""
    patch.setattr(JUDGE, "addresses", lambda text: [])


def miss_disguises(patch):
    """Texts are searched as they are."""
    patch.setattr(JUDGE, "disguised", lambda text: [])


def forget_secrets(patch):
    """What was read in private may be sent."""
    patch.setattr(JUDGE._Check, "secret", lambda self: iter(()))


def follow_any_link(patch):
    """A link of any source may be opened."""
    patch.setattr(JUDGE._Check, "_is_link", lambda self, name, leaf, kind: self._only_sends)


def take_the_task_for_the_person(patch):
    """A subagent's task is the person's words."""
    patch.setattr(middleware, "_is_nested", lambda runtime: False)


def ignore_attachments(patch):
    """An attachment is the person's words."""
    patch.setattr(planning, "_has_attachment", lambda message: False)


MUTATIONS = (
    Mutation(drop_join, "an order in a subagent's answer"),
    Mutation(drop_marks, "a new recipient"),
    Mutation(forget_sink, "a visit of the attacker's page"),
    Mutation(trust_the_undeclared, "a tool that nobody declared"),
    Mutation(keep_claims_apart, "two subagents on one step"),
    Mutation(ignore_claims, "the same mail again"),
    Mutation(keep_released, "a refusal leaves the step to the planned call"),
    Mutation(fold_look_alikes, "full-width letters"),
    Mutation(fold_look_alikes, "a zero-width character"),
    Mutation(accept_parts, "a lazily planned recipient takes any name of the request"),
    Mutation(accept_late_plan, "a plan beside the order"),
    Mutation(keep_old_plans, "an earlier plan in a later turn"),
    Mutation(ignore_literals, "amount and recipient swapped"),
    Mutation(mix_ids, "an id of another type"),
    Mutation(spread_approvals, "an approval for one tool used in another"),
    Mutation(take_last_record, "a contact of the same name"),
    Mutation(accept_any_look_up, "the attacker chooses whom to look up"),
    Mutation(miss_links, "a link in the text"),
    Mutation(miss_disguises, "a link in disguise"),
    Mutation(forget_secrets, "a secret added"),
    Mutation(follow_any_link, "a link outside the named source"),
    Mutation(take_the_task_for_the_person, "a link in the task of a subagent"),
    Mutation(ignore_attachments, "an attachment that is seen"),
)


def is_noticed(family, mode):
    bench = Bench()
    rogue = bench.play(family, mode)
    return bool(rogue) or (family in BENIGN and bench.asked != family.questions)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.plant.__name__}: {m.family}")
def test_a_planted_bug_is_noticed(monkeypatch, mutation):
    mutation.plant(monkeypatch)  # without it the family is not noticed: test_adaptive_attacks
    assert is_noticed(BY_NAME[mutation.family], mutation.mode)
