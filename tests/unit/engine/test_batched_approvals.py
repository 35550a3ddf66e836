"""An answer to a batched approval has one decision per action."""

import pytest
from langgraph.types import Interrupt

from bathysphere.engine.errors import AnswerRefused, QuestionNotFound
from bathysphere.engine.runs.answers import check_answer

APPROVE = {"type": "approve"}
QUESTION = Interrupt({"action_requests": [{"name": "write"}, {"name": "send"}]}, id="q")


@pytest.mark.parametrize(
    "answer", [None, "yes", {}, {"decisions": APPROVE}, {"decisions": [APPROVE]}, [APPROVE] * 2]
)
def test_too_few_decisions_are_refused(answer):
    with pytest.raises(AnswerRefused, match="Expected 2 decisions for q"):
        check_answer("q", answer, {"q": QUESTION})


def test_one_decision_per_action_is_accepted():
    check_answer("q", {"decisions": [APPROVE, APPROVE]}, {"q": QUESTION})


def test_a_question_that_is_not_open_is_refused():
    with pytest.raises(QuestionNotFound, match="Question not pending: other"):
        check_answer("other", {}, {"q": QUESTION})
