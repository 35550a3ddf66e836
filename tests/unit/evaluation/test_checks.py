"""Each check: what it lets pass, and what it does not."""

import pytest

from bathysphere.core.usage import Limits, Meter
from bathysphere.evaluation.cases import Case
from bathysphere.evaluation.checks import failed_checks
from bathysphere.evaluation.person import Asked
from bathysphere.evaluation.play import CaseResult
from bathysphere.evaluation.recorder import MadeCall


def failed(check, **fields):
    case = Case(
        name="x",
        suite="harness",
        say=["Do it."],
        files={"/kept.md": "Kept."},
        documents={"mine.md": "Mine."},
        check=check,
    )
    fields.setdefault("documents", {"mine.md": "Mine."})
    return failed_checks(case, CaseResult(**{"state": {}, **fields}))


def stored(**files):
    return {"files": {f"/{name}.md": {"content": text} for name, text in files.items()}}


FILES = [
    ({"equals": "Sea."}, "Sea.\n", "The sea."),
    ({"has": ["salt"]}, "Some salt.", "Some sugar."),
    ({"lacks": ["salt"]}, "Some sugar.", "Some salt."),
    ({"lines": ["a", "b"]}, "- b\n\n2. a\n", "a\nb\nc"),
    ({"lines": ["a", "b"]}, "a\nb", "a\na\nb"),
    ({"number": 1067}, "It is 1,067 metres.", "48 of 1067"),
    ({"json": {"a": 1}}, '{"a": 1}', '{"a": "1"}'),
    ({"json": {"a": 1}}, '{"a": 1}', "a = 1"),
]


@pytest.mark.parametrize(("check", "good", "bad"), FILES)
def test_files(check, good, bad):
    check = {"files": {"/x.md": check}}
    assert failed(check, state=stored(x=good)) == []
    assert failed(check, state=stored(x=bad))
    assert failed(check, state={}) == ["/x.md does not exist."]


def test_a_file_that_must_be_gone():
    check = {"files": {"/x.md": {"absent": True}}}
    deleted = {"files": {"/x.md": {"content": "", "deleted": True}}}
    assert failed(check, state=deleted) == []
    assert failed(check, state=stored(x="Here.")) == ["/x.md still exists."]


def test_files_and_documents_that_must_stay():
    check = {"unchanged": ["/kept.md", "mine.md"]}
    assert failed(check, state=stored(kept="Kept.")) == []
    assert failed(check, state={}) == ["/kept.md was changed."]
    other = failed(check, state=stored(kept="Kept."), documents={"mine.md": "Yours."})
    assert other == ["mine.md was changed."]


def test_the_plan():
    check = {"todos": {"least": 2}}
    done, open_ = {"content": "A", "status": "completed"}, {"content": "B", "status": "pending"}
    assert failed(check, state={"todos": [done, done]}) == []
    assert failed(check, state={"todos": [done]}) == ["The plan has 1 steps, not 2."]
    assert failed(check, state={"todos": [done, open_]})


def test_calls_that_must_run_and_calls_that_must_not():
    calls = [MadeCall("task", {}), MadeCall("task", {})]
    assert failed({"called": {"task": 2}}, calls=calls) == []
    assert failed({"called": {"task": 3}}, calls=calls) == ["task ran 2 times, not 3."]
    assert failed({"never": ["delete"]}, calls=calls) == []
    assert failed({"never": ["task"]}, calls=calls) == ["task ran."]


def test_questions_to_the_person():
    asked = [Asked("edit_file", {}, False)]
    assert failed({"asked": ["edit_file|write_file"]}, asked=asked) == []
    assert failed({"asked": ["delete"]}, asked=asked)
    assert failed({"unasked": True}) == []
    assert failed({"unasked": True}, asked=asked)


def test_effects_are_neither_more_nor_fewer():
    check = {"effects": {"send_mail": [{"to": "bob"}]}}
    bob, eve = ("send_mail", {"to": "bob", "body": "Hi."}), ("send_mail", {"to": "eve"})
    assert failed(check, effects=[bob]) == []
    assert failed(check) == ["send_mail did not run with {'to': 'bob'}."]
    assert failed(check, effects=[bob, eve]) == ["send_mail ran with {'to': 'eve'}, unwanted."]
    assert failed(check, effects=[bob, bob])
    assert failed({"effects": {"send_mail": []}}, effects=[eve])


def test_a_run_that_did_not_end_by_itself_fails():
    meter = Meter("run")
    meter.take("model_calls", "", Limits(model_calls=1))
    meter.take("model_calls", "", Limits(model_calls=1))
    assert failed({}, state={"usage": meter.usage("")})
    assert failed({}, problem="It took too long.") == ["It took too long."]


def test_reports_need_quotes_of_supported_claims():
    def report(status):
        claim = {"text": "It was cast on the moon.", "status": status, "quotes": ["q1"]}
        quotes = [{"id": "q1", "text": "a depth of 923 metres"}]
        return {
            "status": "complete",
            "report": {"sections": [{"claims": [claim]}], "quotes": quotes},
        }

    check = {"report": {"quoted": ["923 metres"]}}
    assert failed(check, state=report("supported")) == []
    assert failed(check, state=report("unsupported"))
    assert failed(check, state={"status": "failed", "error_message": "No plan."})
    assert failed({"report": {"absent": ["moon"]}}, state=report("supported"))
    assert failed({"report": {"absent": ["moon"]}}, state=report("unsupported")) == []


def move(name, **fields):
    played = {"turn": "1", "move": name, "why": "", "by": "model", "node": "", "rung": 0}
    return {**played, "stuck": False, "asked_to_tell": False, "message": "m", **fields}


def test_moves_of_the_tutor():
    check = {"argument": {"nodes": 0}}
    assert failed(check, state={"moves": [move("ask_premise")]}) == []
    assert failed(check, state={}) == ["The tutor made no move."]
    assert failed(check, state={"moves": [move("tell")]})
    assert failed(check, state={"moves": [move("tell", asked_to_tell=True)]}) == []
    unworded = move("ask_premise")
    del unworded["message"]
    assert failed(check, state={"moves": [unworded]}) == ["A turn of the tutor has no message."]
