"""Asking for JSON: held to a schema where a model can be, looked for in its words where not."""

import json

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic import BaseModel, Field

from bathysphere.agents.research.forms import FORMS, PlanForm, plan_form
from bathysphere.agents.research.structured_output import (
    FULL,
    SMALL,
    AnswerUnusable,
    Asker,
    constrained,
    schema_of,
)
from bathysphere.core.errors import ModelUnavailable, UpstreamError
from bathysphere.models.json_text import extract_json
from bathysphere.testing import ScriptedChatModel, calls, fails, refuses, says


class City(BaseModel):
    """A city."""

    name: str = Field(max_length=20)
    streets: list[str] = Field(default=[], max_length=2)


BERN = City(name="Bern")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bern"}',
        'Here you are:\n```json\n{"name": "Bern"}\n```\nAnything else?',
        '<think>{"name": "Basel"} or rather not</think>{"name": "Bern"}',
        '<thinking>\nhm { hm\n</thinking>\n\n{"name": "Bern"}',
        'I {think} so: {"name": "Bern"} {"name": "Basel"}',
        '{"name": "Bern", "extra": {"a": [1, 2]}}',
        '{\n  "name":\t"Bern"\n}',
        '<tool_call>{"name": "City", "arguments": {"name": "Bern"}}</tool_call>',
        '[TOOL_CALLS] [{"name": "answer", "arguments": {"name": "Bern"}}]',
    ],
)
async def test_json_is_found_in_what_models_write_around_it(text):
    answer = await Asker(model=ScriptedChatModel(script=[says(text)])).ask(
        City, system="s", user="u"
    )
    assert answer.value.name == "Bern"
    assert answer.repairs == 0


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", "{", '{"name": ', "<think>{}</think>"])
def test_where_there_is_no_object_there_is_none(text):
    with pytest.raises(ValueError, match="no JSON object"):
        extract_json(text)


async def test_what_does_not_fit_goes_back_with_the_reason():
    model = ScriptedChatModel(script=[says("Bern!"), says('{"city": 1}'), says('{"name": "Bern"}')])
    answer = await Asker(model=model).ask(City, system="s", user="u")
    assert answer.value == BERN
    assert answer.repairs == 2
    assert "not one JSON object" in model.requests[1][-1].text
    assert "name: Field required" in model.requests[2][-1].text
    assert [m.text for m in model.requests[2][1:3]] == ["u", '{"city": 1}']
    model.assert_done()


async def test_repairs_end():
    model = ScriptedChatModel(answer=lambda _: says("never"))
    with pytest.raises(AnswerUnusable, match="did not give a usable City"):
        await Asker(model=model, repairs=1).ask(City, system="s", user="u")
    assert len(model.requests) == 2


async def test_a_list_that_is_too_long_is_cut_and_not_argued_about():
    long = json.dumps({"name": "Bern", "streets": ["a", "b", "c"]})
    answer = await Asker(model=ScriptedChatModel(script=[says(long)])).ask(
        City, system="s", user="u"
    )
    assert answer.value.streets == ["a", "b"]


async def test_tokens_of_all_tries_are_counted():
    model = ScriptedChatModel(script=[says("x" * 40), says('{"name": "Bern"}')])
    answer = await Asker(model=model).ask(City, system="s" * 400, user="u")
    assert answer.tokens > 2 * 100


async def test_a_model_that_knows_no_schema_is_asked_in_words():
    model = FakeListChatModel(responses=['Sure: {"name": "Bern"}'])
    answer = await Asker(model=model).ask(City, system="s", user="u")
    assert answer.value == BERN
    assert constrained(model, schema_of(City, FULL)) is model


async def test_an_answer_by_tool_call_is_an_answer():
    model = ScriptedChatModel(script=[calls("City", name="Bern")])
    assert (await Asker(model=model).ask(City, system="s", user="u")).value == BERN


async def test_another_model_takes_over():
    broken = ScriptedChatModel(answer=lambda _: refuses(500))
    other = ScriptedChatModel(script=[says('{"name": "Bern"}')])
    asker = Asker(model=broken, fallback=(other,))
    assert (await asker.ask(City, system="s", user="u")).value == BERN


@pytest.mark.parametrize(
    ("turn", "error"),
    [
        (refuses(401), ModelUnavailable),
        (refuses(503), UpstreamError),
        (fails(KeyError("a bug")), KeyError),
    ],
)
async def test_a_failure_of_the_model_is_one_sentence_and_a_bug_stays_a_bug(turn, error):
    with pytest.raises(error):
        await Asker(model=ScriptedChatModel(script=[turn])).ask(City, system="s", user="u")


# ── schemas ──


def texts(part):
    """Every text in a schema that a model may write freely."""
    if isinstance(part, dict):
        if part.get("type") == "string" and "enum" not in part and "const" not in part:
            yield part
        for value in part.values():
            yield from texts(value)
    elif isinstance(part, list):
        for value in part:
            yield from texts(value)


def lists(part):
    if isinstance(part, dict):
        if part.get("type") == "array":
            yield part
        for value in part.values():
            yield from lists(value)
    elif isinstance(part, list):
        for value in part:
            yield from lists(value)


@pytest.mark.parametrize("sizes", [FULL, SMALL])
@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.__name__)
def test_every_text_and_list_of_a_schema_is_bounded(form, sizes):
    schema = schema_of(form, sizes)
    assert all(text["maxLength"] <= sizes.text for text in texts(schema))
    assert all("maxItems" in found for found in lists(schema))
    assert schema["title"] == form.__name__
    assert "default" not in json.dumps(schema)


def test_a_plan_can_only_use_tools_that_are_there():
    form = plan_form(("search_corpus",))
    step = schema_of(form, FULL)["$defs"]["StepForm"]["properties"]["tool"]
    assert step.get("const") == "search_corpus" or step.get("enum") == ["search_corpus"]
    given = {"objective": "x", "steps": [{"tool": "web_search", "input": "y"}]}
    PlanForm.model_validate(given)
    with pytest.raises(ValueError, match="search_corpus"):
        form.model_validate(given)


@pytest.mark.parametrize(("sizes", "is_shown"), [(FULL, True), (SMALL, False)])
async def test_a_small_model_that_is_held_to_a_schema_does_not_read_it_too(sizes, is_shown):
    model = ScriptedChatModel(script=[says('{"name": "Bern"}')])
    await Asker(model=model, sizes=sizes).ask(City, system="s", user="u")
    assert ('"properties"' in model.requests[0][0].text) is is_shown
    free = FakeListChatModel(responses=['{"name": "Bern"}'])
    assert '"properties"' in Asker(model=free, sizes=sizes)._form(schema_of(City, sizes))


def test_a_small_model_gets_small_schemas():
    schema = schema_of(FORMS["synthesizer"], SMALL)
    assert schema["properties"]["claims"]["maxItems"] == SMALL.claims
