"""The tutor in the browser: a map that the person owns, moves as chips, voices with faces."""

import pytest
from tutor_scripts import CLAIM, FAITH, GOLD, PREMISE, QUOTE, backup, move, on_map, voice

from bathysphere.argument.map import node_id_of
from bathysphere.testing import calls, says, together

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]

EVIDENCE = calls(
    "propose_quote",
    text="Money outlived its gold.",
    file_id="doc-notes",
    quote=QUOTE,
    target=CLAIM,
)
ARGUED = [
    move("ask_premise", "Nothing supports the claim.", CLAIM),
    on_map("claim", "Money is trust.", said="money is trust"),
    together(
        on_map("premise", PREMISE, relation="supports", target=CLAIM),
        on_map("objection", GOLD, relation="attacks", target=CLAIM),
        EVIDENCE,
    ),
    says("What does that trust rest on?"),
]
TOLD = [move("concede", "The person has a point."), says("You are right: paper burns well.")]
SEMINAR = [
    move("work", "They ask for a seminar."),
    voice("advocate", "Make the best case for the claim."),
    on_map("premise", FAITH, relation="supports", target=CLAIM),
    says("Each of us takes a note because the next one will."),
    voice("sceptic", "Find the objection that hurts most."),
    on_map("objection", "Taxes make money, not trust.", relation="attacks", target=CLAIM),
    says("A state that takes its notes for taxes needs nobody's trust."),
    calls(
        "review_nodes",
        nodes=[
            node_id_of("premise", FAITH),
            node_id_of("objection", "Taxes make money, not trust."),
        ],
    ),
    says("Both have spoken. Where does that leave you?"),
]


def test_a_map_that_grows_with_the_talk_and_that_only_the_person_decides(story, rig, tmp_path):
    (tmp_path / "backup.json").write_text(backup(), encoding="utf-8")
    story("tutor", [*ARGUED, *TOLD, *SEMINAR], str(tmp_path / "backup.json"), seconds=240)
    told = [str(request.body) for request in rig.model.requests()]
    reason = f"- premise: {PREMISE} (because: Paper burns well.)"
    assert not any(reason in words for words in told[: len(ARGUED)])
    assert all(reason in words for words in told[len(ARGUED) + 1 : len(ARGUED) + 2])
    assert f"refuse:{node_id_of('premise', FAITH)}" not in told[-1]
    assert "They added: Taxes are a kind of trust." in told[-1]


NOTED = [
    move("ask_premise", "Nothing supports the claim.", CLAIM),
    on_map("claim", "Money is trust.", said="money is trust"),
    together(
        on_map("premise", PREMISE, relation="supports", target=CLAIM),
        on_map("objection", GOLD, relation="attacks", target=CLAIM),
    ),
    says("What does that trust rest on?"),
]
ANSWERED = [move("concede", "They answered it."), says("So a price is not a use.")]


@pytest.mark.long(
    "tests/e2e/web/test_tutor_stories.py"
    "::test_a_map_that_grows_with_the_talk_and_that_only_the_person_decides"
)
def test_what_the_person_writes_on_the_map_reaches_the_tutor_and_goes_out_as_files(story, rig):
    story("map_edit", [*NOTED, *ANSWERED], seconds=240)
    *_, before, _, after = (str(request.body) for request in rig.model.requests())
    reply = node_id_of("reply", "A price is not a use.")
    noted = f"answers: **{reply}** A price is not a use. (accepted; person)"
    assert noted in after and noted not in before
    assert f"- premise: {PREMISE} (because: Reworded by the person: A note is only paper.)" in after
    assert "I add a reply: “A price is not a use.”" in after
