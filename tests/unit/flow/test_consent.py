"""Consent: an answer lets exactly the call run that was shown, once."""

import pytest

from bathysphere.flow import consent
from bathysphere.flow.consent import Explanation, tracked

CALL = {"id": "1", "name": "send", "args": {"to": "bob", "body": "x"}}


def explain(_):
    return Explanation([{"why": "unplanned"}], "You did not ask for this.")


def test_an_approval_is_for_the_call_as_shown_and_used_up_by_it():
    with tracked("1", explain):
        assert consent.take(CALL) is None
        consent.report(CALL, "approved")
        assert consent.take(CALL) == "approved"
        assert consent.take(CALL) is None


@pytest.mark.parametrize(
    "other",
    [
        {**CALL, "id": "2"},
        {**CALL, "name": "delete"},
        {**CALL, "args": {"to": "eve", "body": "x"}},
        {**CALL, "args": {"to": "bob"}},
        {**CALL, "args": {**CALL["args"], "cc": "eve"}},
    ],
)
def test_another_call_is_not_covered(other):
    with tracked("1", explain):
        consent.report(CALL, "approved")
        assert consent.take(other) is None


@pytest.mark.parametrize("answer", ["refused", "answered"])
def test_other_answers_let_nothing_run(answer):
    with tracked("1", explain) as kept:
        consent.report(CALL, "approved")
        consent.report(CALL, answer)
        assert consent.take(CALL) is None
        assert kept.answer == answer


def test_an_answer_about_another_call_is_not_reported():
    with tracked("1", explain) as kept:
        consent.report({**CALL, "id": "2"}, "approved")
        assert (kept.answer, kept.approved) == (None, None)
        assert consent.explanation("2").fields == {}
        assert not consent.leave({**CALL, "id": "2"}, {"marks": {"untrusted": True}})


def test_outside_of_a_call_there_is_no_answer():
    with tracked("1", explain):
        consent.report(CALL, "approved")
    assert consent.take(CALL) is None
    assert consent.explanation("1").fields == {}


def test_within_a_call_another_one_is_on_its_own():
    with tracked("1", explain):
        consent.report(CALL, "approved")
        with tracked("2", explain):
            assert consent.take(CALL) is None
            assert consent.take({**CALL, "id": "2"}) is None
        assert consent.take(CALL) == "approved"
