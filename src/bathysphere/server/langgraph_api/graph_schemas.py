"""JSON schemas of a graph: input, output, state and context."""

from collections.abc import Callable
from typing import Any

from pydantic.errors import PydanticUserError

from bathysphere.engine.graphs import Graph


def schemas_of(graph: Graph) -> dict[str, Any]:
    """The schemas of a graph, in LangGraph's format."""
    output = _schema(graph.get_output_jsonschema)
    return {
        "input_schema": _schema(graph.get_input_jsonschema),
        "output_schema": output,
        "state_schema": output,
        "config_schema": {},
        "context_schema": _schema(graph.get_context_jsonschema),
    }


def _schema(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except PydanticUserError:  # a state that has no JSON schema
        return None
