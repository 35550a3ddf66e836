"""Tools with short schemas: what the model sees, and what is still checked."""

import pickle

import pytest
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, ValidationError

from bathysphere.models.short_tool import ShortTool, shortened


class _Part(BaseModel):
    """One part."""

    title: str = Field(min_length=1)


class _Arguments(BaseModel):
    title: str = Field(min_length=1, max_length=20, description="What it is called.")
    parts: list[_Part] = Field(default_factory=list, max_length=3)
    folder: str | None = Field(default=None, description="Where it is.")
    limit: int = Field(default=8, ge=1, le=20)
    case_sensitive: bool = False


def write(
    title: str,
    parts: list[_Part] | None = None,
    folder: str | None = None,
    limit: int = 8,
    *,
    case_sensitive: bool = False,
) -> str:
    return f"{title} {len(parts or [])} {folder} {limit} {case_sensitive}"


def tool(**more):
    return ShortTool.from_function(
        write, name="write", description="Write it.", args_schema=_Arguments, **more
    )


def shown(each):
    return convert_to_openai_tool(each)["function"]["parameters"]


def test_the_model_sees_names_types_and_words_and_nothing_else():
    assert shown(tool(hidden=("case_sensitive",))) == {
        "properties": {
            "title": {"type": "string", "description": "What it is called."},
            "parts": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}},
                    "required": ["title"],
                },
            },
            "folder": {"type": "string", "description": "Where it is."},
            "limit": {"type": "integer", "default": 8},
        },
        "required": ["title"],
        "type": "object",
    }


def test_what_is_not_shown_is_checked_and_accepted_as_before():
    short = tool(hidden=("case_sensitive",))
    assert short.invoke({"title": "a", "case_sensitive": True}) == "a 0 None 8 True"
    for wrong in ({"title": ""}, {"title": "a", "limit": 21}, {"title": "a", "parts": [{}]}):
        with pytest.raises(ValidationError):
            short.invoke(wrong)


def test_an_edited_call_is_checked_against_the_whole_schema():
    schema = tool().tool_call_schema
    assert issubclass(schema, BaseModel)
    with pytest.raises(ValidationError):
        schema.model_validate({"title": ""})


def test_words_replace_those_of_the_schema_and_an_empty_one_removes_them():
    short = tool(words={"title": "Its name.", "folder": ""})
    properties = shown(short)["properties"]
    assert properties["title"]["description"] == "Its name."
    assert properties["folder"] == {"type": "string"}


def test_a_tool_of_another_package_keeps_what_it_does():
    upstream = StructuredTool.from_function(
        write, name="write", description="Long.", args_schema=_Arguments
    )
    short = shortened(upstream, description="Write.", hidden=("limit",))
    assert short.description == "Write."
    assert "limit" not in shown(short)["properties"]
    assert short.invoke({"title": "a", "limit": 3}) == upstream.invoke({"title": "a", "limit": 3})
    assert shown(short) == shown(short)  # the same at every call, so that a provider can cache it


def test_the_schema_of_another_program_is_left_as_it_is():
    schema = {"type": "object", "title": "X", "properties": {"a": {"minLength": 3}}}
    foreign = ShortTool(name="a", description="A.", args_schema=schema, func=lambda a: a)
    assert foreign.tool_call_schema["properties"] == {"a": {"minLength": 3}}


def test_the_cached_schema_of_the_tool_is_not_changed():
    short = tool()
    full = type(short).__mro__[1].tool_call_schema.fget(short)
    before = full.model_json_schema()
    assert "$defs" in before
    shown(short)
    assert full.model_json_schema() == before
    assert "$defs" in full.model_json_schema()


def test_a_tool_can_be_pickled_after_its_schema_was_shown():
    short = tool()
    before = shown(short)
    assert shown(pickle.loads(pickle.dumps(short))) == before
