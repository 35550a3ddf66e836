"""JSON of anything: whatever a graph's state holds, readers get valid JSON."""

import json
from collections import deque
from dataclasses import dataclass

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Interrupt

from bathysphere.core.json_text import dumps


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({1: deque([1, 2])}, {"1": [1, 2]}),
        (
            Interrupt(value={"a": 1}, id="q"),
            {"value": {"a": 1}, "id": "q", "response_schema": None},
        ),
        (b"text", "text"),
        ({"large": 2**70, "point": Point(1)}, {"large": 2**70, "point": {"x": 1}}),
        (complex(1, 2), "(1+2j)"),
    ],
    ids=["keys", "interrupt", "bytes", "large", "repr"],
)
def test_a_value_is_written_as_json(value, read):
    assert json.loads(dumps(value)) == read


def test_a_message_is_written_with_its_fields():
    assert json.loads(dumps(HumanMessage("hi", id="m")))["content"] == "hi"
