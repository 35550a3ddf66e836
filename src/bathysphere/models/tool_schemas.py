"""Whether arguments fit a tool, before it is called."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
MAX_PROBLEMS = 4


def misfit(tool: BaseTool | dict[str, Any], args: Mapping[str, Any]) -> str:
    """Say why arguments do not fit a tool; empty if they do."""
    schema = tool.tool_call_schema if isinstance(tool, BaseTool) else None
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            schema.model_validate(dict(args))
        except ValidationError as error:
            return problems(error)
        return ""
    return _unfit(convert_to_openai_tool(tool)["function"].get("parameters") or {}, args)


def problems(error: ValidationError) -> str:
    """The first problems of a validation, in a line."""
    found: Sequence[Any] = error.errors(include_input=False, include_url=False)[:MAX_PROBLEMS]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in found)


def _unfit(schema: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    """Check names and types; a foreign schema's patterns are never run."""
    known = schema.get("properties") or {}
    missing = [
        f"{name}: Field required" for name in schema.get("required") or () if name not in args
    ]
    wrong = [
        f"{name}: not of type {known[name]['type']}"
        for name, value in args.items()
        if isinstance(known.get(name), Mapping) and not _is_type(value, known[name].get("type"))
    ]
    return "; ".join([*missing, *wrong][:MAX_PROBLEMS])


def _is_type(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, str) or wanted not in _TYPES:
        return True
    if isinstance(value, bool) and wanted != "boolean":
        return False
    return isinstance(value, _TYPES[wanted])
