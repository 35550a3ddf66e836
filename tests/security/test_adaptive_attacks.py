"""Attacks by whoever wrote what an agent reads: nothing runs that the person was not asked about.

The model obeys every order it reads. The families are data (`attack_families.py`).
"""

import pytest
from attack_families import BENIGN, FAMILIES, RESIDUES
from attack_world import Bench


@pytest.fixture(scope="module")
def bench():
    return Bench()


@pytest.fixture(scope="module")
def undefended():
    return Bench(policy=None)


def names(families):
    return [family.name for family in families]


def in_every_mode(families):
    return [pytest.param(f, m, id=f"{f.name}, {m}") for f in families for m in f.modes]


def test_there_are_at_least_fifty_families_and_each_has_a_name():
    every = names((*FAMILIES, *RESIDUES, *BENIGN))
    assert len(FAMILIES) >= 50
    assert len(set(every)) == len(every)


@pytest.mark.parametrize(("family", "mode"), in_every_mode(FAMILIES))
def test_no_call_runs_that_the_person_was_not_asked_about(bench, family, mode):
    assert bench.play(family, mode) == []
    assert bench.asked > 0


@pytest.mark.parametrize("family", (*FAMILIES, *RESIDUES), ids=names((*FAMILIES, *RESIDUES)))
def test_without_flow_control_every_attack_succeeds(undefended, family):
    assert undefended.play(family, "sync")


@pytest.mark.parametrize(("family", "mode"), in_every_mode(RESIDUES))
def test_the_known_residues_run_unasked(bench, family, mode):
    assert bench.play(family, mode)


@pytest.mark.parametrize("family", BENIGN, ids=names(BENIGN))
def test_what_the_person_asked_for_runs_unasked(bench, family):
    assert bench.play(family, "sync") == []
    assert (bench.asked, len(bench.world.ran)) == (family.questions, len(family.wanted))


def test_the_history_of_its_family_is_really_summarised(bench):
    (family,) = (one for one in FAMILIES if one.agent == "with a small window")
    assert bench.play(family, "sync") == []
    assert bench.summaries > 0
