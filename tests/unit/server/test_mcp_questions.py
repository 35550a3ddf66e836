"""Questions of agents as forms of MCP clients."""

import pytest

from bathysphere.engine.errors import AnswerRefused
from bathysphere.server.mcp.questions import form_of, question_text

DECISIONS = {
    "$defs": {
        "Approve": {"properties": {"type": {"const": "approve"}}, "required": ["type"]},
        "Reject": {
            "properties": {"type": {"const": "reject"}, "message": {"type": "string"}},
            "required": ["type"],
        },
        "Edit": {
            "properties": {"type": {"const": "edit"}, "edited_action": {"type": "object"}},
            "required": ["type", "edited_action"],
        },
    },
    "anyOf": [{"$ref": "#/$defs/Approve"}, {"$ref": "#/$defs/Reject"}, {"$ref": "#/$defs/Edit"}],
}


def asked(value=None, **schema):
    return {"id": "1", "value": value, **({"response_schema": schema} if schema else {})}


def test_an_object_of_plain_fields_is_passed_on():
    fields = {"city": {"type": "string"}, "days": {"type": "integer"}}
    form = form_of(asked(type="object", properties=fields, required=["city"], title="Trip"))
    assert form.schema == {"type": "object", "properties": fields, "required": ["city"]}
    assert form.answer({"city": "Ghent", "days": 2}) == {"city": "Ghent", "days": 2}


def test_decisions_are_a_choice_without_those_that_need_more_than_a_message():
    form = form_of(asked(**DECISIONS))
    assert form.schema["properties"]["decision"]["enum"] == ["approve", "reject"]
    assert form.answer({"decision": "approve", "message": "fine"}) == {"type": "approve"}
    rejected = form.answer({"decision": "reject", "message": "no"})
    assert rejected == {"type": "reject", "message": "no"}
    for wrong in ({}, {"decision": "edit"}, {"decision": ["approve"]}):
        with pytest.raises(AnswerRefused):
            form.answer(wrong)


def test_any_other_schema_is_answered_with_json():
    form = form_of(asked(type="array", items={"type": "object"}))
    assert '"array"' in form.schema["properties"]["answer"]["description"]
    assert form.answer({"answer": '[{"a": 1}]'}) == [{"a": 1}]
    with pytest.raises(AnswerRefused, match="not valid JSON"):
        form.answer({"answer": "[{"})


@pytest.mark.parametrize("schema", [{}, {"type": "string"}])
def test_a_question_for_text_is_answered_with_text(schema):
    assert form_of(asked("Which?", **schema)).answer({"answer": "[{"}) == "[{"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Which city?", "Which city?"),
        ({"type": "x", "question": "Which?", "options": [1]}, 'Which?\n{"options": [1]}'),
        (
            {"name": "send", "args": {"to": "a\u202eb"}},
            '{"name": "send", "args": {"to": "a⟨U+202E⟩b"}}',
        ),
        ([1, "é"], '[1, "é"]'),
    ],
)
def test_a_question_is_shown_whole_with_invisible_characters(value, shown):
    assert question_text(asked(value)) == shown


def test_a_long_question_is_cut():
    assert len(question_text(asked("x" * 9000))) == 4001
