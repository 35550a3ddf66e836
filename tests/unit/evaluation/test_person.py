"""The person of a case approves what they asked for, once, and nothing else."""

from bathysphere.evaluation.cases import Case
from bathysphere.evaluation.person import Person

CASE = Case(
    name="x",
    suite="harness",
    say=["Delete it."],
    documents={"mine.md": "Mine."},
    person={"approves": [{"tool": "delete", "file_path": "/x.md"}], "reason": "No."},
    check={},
)


def approval(tool="delete", **args):
    return {"type": "tool_approval", "name": tool, "args": args, "tool_call_id": "1"}


def test_they_approve_what_they_asked_for_and_only_once():
    person = Person(CASE)
    assert person.answer(approval(file_path="/x.md")) == {"type": "approve"}
    assert person.answer(approval(file_path="/x.md"))["type"] == "reject"
    assert [one.approved for one in person.asked] == [True, False]


def test_they_reject_other_calls_with_their_reason():
    person = Person(CASE)
    assert person.answer(approval(file_path="/")) == {"type": "reject", "message": "No."}
    assert person.answer(approval("edit_file", file_path="/x.md"))["type"] == "reject"


def test_they_answer_stock_questions_about_several_calls():
    actions = [{"name": "delete", "args": {"file_path": path}} for path in ("/x.md", "/y.md")]
    answer = Person(CASE).answer({"action_requests": actions, "review_configs": []})
    assert [one["type"] for one in answer["decisions"]] == ["approve", "reject"]


def test_they_answer_questions_and_plans_and_have_documents():
    person = Person(CASE)
    assert person.answer({"type": "clarification_request", "question": "?"})["response"]
    options = [{"id": "a"}, {"id": "b"}]
    chosen = person.answer({"type": "clarification_request", "options": options})
    assert chosen == {"selected": ["a"]}
    assert person.answer({"type": "plan_approval", "difference": None}) == {"type": "approve"}
    assert person.answer({"type": "plan_approval", "difference": [1]})["type"] == "reject"
    call = {"id": "1", "name": "read_user_file", "args": {"file_id": "mine.md"}}
    assert person.answer({"type": "tool", "tool_call": call})["1"]["text"] == "Mine."
