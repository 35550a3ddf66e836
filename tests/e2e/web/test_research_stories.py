"""Research in the browser, from the question to a proof that anyone can check."""

import io
import zipfile

import pytest
from research_scripts import (
    CABLE,
    DEPTH,
    FIRST,
    MAKERS,
    NO_REPAIR,
    RECORD,
    REEF,
    REPORT,
    SECOND,
    answer,
    claim,
    judged,
    more,
    plan,
)

from bathysphere.evidence.proof.check import verify_proof
from bathysphere.testing import says

FROM_QUESTION_TO_PROOF = [FIRST, SECOND, more(CABLE), REPORT, NO_REPAIR, judged(c1=False, c2=True)]
pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]


def test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike(story, tmp_path):
    figures = story("research", FROM_QUESTION_TO_PROOF, str(tmp_path), seconds=240)
    good = verify_proof((tmp_path / "report.zip").read_bytes())
    bad = verify_proof((tmp_path / "tampered.zip").read_bytes())
    assert good.ok
    [failed] = [check for check in bad.checks if check.state == "failed"]
    assert figures["failed"] == [f"{failed.name}: {failed.detail}"]
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert zipfile.is_zipfile(io.BytesIO((tmp_path / "report.docx").read_bytes()))
    for name in ("report.md", "report.html"):
        assert "Otis Barton designed it" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.long(
    "tests/e2e/web/test_research_stories.py"
    "::test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike"
)
def test_research_goes_on_after_a_reload_and_without_what_was_refused(story):
    slow = plan(
        "Know how deep it went",
        (f"slowly: {DEPTH}", "The record is what is asked.", []),
        (f"slowly: {MAKERS}", "Who made it.", [1]),
    )
    report = answer(
        {"claims": [claim("The bathysphere went down to 923 metres in 1934.", ("S1", RECORD))]}
    )
    story("research_reload", [slow, more(CABLE), report, judged(c1=True)])


@pytest.mark.long(
    "tests/e2e/web/test_research_stories.py"
    "::test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike"
)
def test_research_that_fails_says_so_and_can_be_asked_again(story):
    story("research_fails", [says("I would rather not."), says("No."), says("No."), FIRST])


@pytest.mark.long(
    "tests/e2e/web/test_research_stories.py"
    "::test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike"
)
def test_passages_of_the_persons_documents_go_with_a_question_and_are_quoted(story):
    report = answer({"claims": [claim("The reef is 40 metres deep.", ("S1", REEF))]})
    story("research_documents", [FIRST, more(), report, judged(c1=True)], REEF)


@pytest.mark.long(
    "tests/e2e/web/test_research_stories.py"
    "::test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike"
)
def test_over_five_documents_and_the_sample_pages_only_listed_passages_leave(story):
    claims = [
        claim("The reef is 40 metres deep.", ("S1", REEF)),
        claim("The bathysphere went down to 923 metres in 1934.", ("S9", RECORD)),
    ]
    script = [FIRST, more(), answer({"claims": claims}), judged(c1=True, c2=True)]
    figures = story("research_five_documents", script, REEF, RECORD)
    assert figures == {"passages": 8, "unlisted_bytes": 0}


@pytest.mark.long(
    "tests/e2e/web/test_research_stories.py"
    "::test_from_a_question_to_a_proof_that_the_page_and_the_terminal_judge_alike"
)
def test_a_second_message_is_answered_or_extends_the_research(story, tmp_path):
    heard = "Beebe described what he saw to Gloria Hollister on deck"
    report = {"claims": [claim("The bathysphere went down to 923 metres in 1934.", ("S1", RECORD))]}
    script = [
        FIRST,
        more(),
        answer(report),
        judged(c1=True),
        answer({"kind": "answer", "reason": "they say it"}),
        answer({"claims": [claim("Gloria Hollister was on deck.", ("S1", heard))]}),
        answer({"kind": "extend", "reason": "you ask for more"}),
        SECOND,
    ]
    story("research_follow_up", script, str(tmp_path), seconds=240)
    assert verify_proof((tmp_path / "earlier.zip").read_bytes()).ok
