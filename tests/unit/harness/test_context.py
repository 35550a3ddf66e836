"""The context that a graph declares, in the three forms LangGraph knows."""

from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, Field

from bathysphere.harness.context import (
    coerced_context,
    context_for_run,
    context_problems,
    undeclared_fields,
)


@dataclass
class AsDataclass:
    tone: str = "plain"
    size: int = 1
    made: int = field(default=0, init=False)


class AsModel(BaseModel):
    tone: str = Field(default="plain", alias="Tone")
    size: int = 1


class AsDict(TypedDict, total=False):
    tone: str
    size: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


@dataclass
class Needed:
    tone: str


class Opaque:
    pass


@dataclass
class WithOpaque:
    thing: Opaque


@pytest.mark.parametrize(
    ("schema", "unknown"),
    [
        (None, ["made", "size", "tone", "user"]),
        (AsDataclass, ["made", "user"]),
        (AsModel, ["made", "user"]),
        (AsDict, ["made", "user"]),
        (Open, []),
    ],
)
def test_fields_that_are_not_declared_are_found(schema, unknown):
    sent = {"tone": "warm", "size": 2, "made": 3, "user": "ada"}
    assert undeclared_fields(schema, sent) == unknown


@pytest.mark.parametrize("schema", [AsDataclass, AsModel, AsDict])
def test_a_value_of_another_type_is_named(schema):
    [problem] = context_problems(schema, {"size": "big"})
    assert problem.startswith("size: ")
    assert context_problems(schema, {"size": 2}) == []


def test_a_type_that_only_the_graph_can_check_is_left_to_it():
    assert context_problems(WithOpaque, {"thing": 5}) == []


@pytest.mark.parametrize(
    ("schema", "sent", "given"),
    [
        (AsDataclass, None, {}),
        (AsModel, None, {}),
        (AsDict, None, {}),
        (Needed, None, None),
        (Needed, {"tone": "warm"}, {"tone": "warm"}),
    ],
)
def test_without_a_context_a_run_gets_the_defaults(schema: Any, sent, given):
    assert context_for_run(schema, sent) == given


def test_nodes_get_an_object_of_the_schema():
    assert coerced_context(AsDataclass, {"tone": "warm"}) == AsDataclass(tone="warm")
    assert coerced_context(AsDict, {"tone": "warm"}) == {"tone": "warm"}
    assert coerced_context(Needed, None) is None
    assert coerced_context(None, None) is None
