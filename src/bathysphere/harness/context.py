"""The context that a graph declares: what a client may send, and what a run is given.

It is data in the shape of the graph's `context_schema`. Who the caller is, is never in it:
`core.run_context`.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import isclass
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError


def undeclared_fields(schema: Any, context: Mapping[str, Any]) -> list[str]:
    """The fields of a context that the schema does not declare; without a schema, all."""
    if schema is None:
        return sorted(context)
    if isclass(schema) and issubclass(schema, BaseModel):
        if schema.model_config.get("extra") == "allow":
            return []
        names = {field.alias or name for name, field in schema.model_fields.items()}
        return sorted(context.keys() - names - schema.model_fields.keys())
    if is_dataclass(schema):
        return sorted(context.keys() - {field.name for field in fields(schema) if field.init})
    return sorted(context.keys() - get_type_hints(schema).keys())


def context_problems(schema: Any, context: Mapping[str, Any]) -> list[str]:
    """Why values do not fit their declared types: field and reason."""
    if is_dataclass(schema) or _is_model(schema):
        return _problems(schema, dict(context))
    # A TypedDict, field by field: before Python 3.12 pydantic does not take the one of `typing`.
    types = get_type_hints(schema)
    return [
        problem
        for name, value in context.items()
        for problem in _problems(types[name], value, name)
    ]


def _problems(type_: Any, value: Any, *place: str) -> list[str]:
    try:
        TypeAdapter(type_).validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        return [f"{'.'.join(map(str, (*place, *e['loc'])))}: {e['msg']}" for e in found]
    except PydanticUserError:  # a type that only the graph itself can check
        return []
    return []


def context_for_run(schema: Any, context: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The context as LangGraph coerces it: what was sent, or the schema's defaults.

    None if nothing was sent and the schema has fields without a default.
    """
    if context is not None:
        return dict(context)
    has_defaults = not (is_dataclass(schema) or _is_model(schema)) or _can_be_empty(schema)
    return {} if has_defaults else None


def coerced_context(schema: Any, context: Mapping[str, Any] | None) -> Any:
    """The context as an object of its schema, as LangGraph hands it to nodes."""
    given = None if schema is None else context_for_run(schema, context)
    if given is None or not (is_dataclass(schema) or _is_model(schema)):
        return given
    return schema(**given)


def _is_model(schema: Any) -> bool:
    return isclass(schema) and issubclass(schema, BaseModel)


def _can_be_empty(schema: Any) -> bool:
    try:
        schema()
    except (TypeError, ValueError):
        return False
    return True
