"""Tools whose schema is short: every model call pays for it again.

What a model does not need to make a call is left out of what it sees: titles, defaults that mean
"nothing", limits of length, and optional arguments that hardly any call uses. The tool itself
checks and accepts everything as before, and so does the form in which a person edits a call.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, PrivateAttr

_NOISE = frozenset(
    {
        "title",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
)
_NO_DEFAULTS = (None, False, "", 0)


class ShortTool(StructuredTool):
    """A tool that is shown to models with a short schema."""

    hidden: tuple[str, ...] = ()
    """Optional arguments that are accepted, but not shown."""
    words: Mapping[str, str] = {}
    """Descriptions of arguments in place of the schema's own; an empty one is left out."""
    _shown: type[BaseModel] | None = PrivateAttr(default=None)

    @property
    def tool_call_schema(self) -> Any:
        """The arguments that a model gives, as a class whose JSON schema is short."""
        full = super().tool_call_schema
        if isinstance(full, dict) or not issubclass(full, BaseModel):
            return full  # another program's schema, which is not ours to shorten
        if self._shown is None or not issubclass(self._shown, full):
            self._shown = _shown(full, short_schema(full, hidden=self.hidden, words=self.words))
        return self._shown

    def __getstate__(self) -> dict[Any, Any]:
        """Leave out the class that was made for the schema: it cannot be pickled."""
        state = super().__getstate__()
        private = {**(state.get("__pydantic_private__") or {}), "_shown": None}
        return {**state, "__pydantic_private__": private}


def shortened(
    tool: StructuredTool,
    *,
    description: str | None = None,
    hidden: tuple[str, ...] = (),
    words: Mapping[str, str] | None = None,
) -> ShortTool:
    """Return the same tool with a short schema, and with another description if one is given."""
    fields = {name: getattr(tool, name) for name in StructuredTool.model_fields}
    fields |= {"description": description or tool.description}
    return ShortTool(**fields, hidden=hidden, words=words or {})


def short_schema(
    model: type[BaseModel], *, hidden: tuple[str, ...] = (), words: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without what a model does not need."""
    schema = model.model_json_schema()  # LangChain caches it: it must not be changed
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    short = _short(rest, schema.get("$defs", {}))
    short.pop("description", None)  # the tool's own, which is sent beside the schema
    properties = {
        name: _described(value, (words or {}).get(name))
        for name, value in short.get("properties", {}).items()
        if name not in hidden
    }
    return {**short, "properties": properties}


def _shown(full: type[BaseModel], schema: dict[str, Any]) -> type[BaseModel]:
    def model_json_schema(*args: Any, **options: Any) -> dict[str, Any]:
        del args, options
        return dict(schema)

    body = {"model_json_schema": staticmethod(model_json_schema), "__doc__": full.__doc__}
    return type(full.__name__, (full,), body)


def _described(value: dict[str, Any], words: str | None) -> dict[str, Any]:
    if words is None:
        return value
    rest = {key: each for key, each in value.items() if key != "description"}
    return {**rest, "description": words} if words else rest


def _short(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_short(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        inner = {key: value for key, value in named.items() if key != "description"}
        return _short(inner | {k: v for k, v in schema.items() if k != "$ref"}, definitions)
    schema = _without_null(schema)
    short = {key: value for key, value in schema.items() if key not in _NOISE}
    if short.get("default", 1) in _NO_DEFAULTS:
        short.pop("default", None)
    if isinstance(properties := short.pop("properties", None), dict):
        # The names of arguments are no keywords: one may be called `title`.
        named = {name: _short(value, definitions) for name, value in properties.items()}
        return {"properties": named} | {k: _short(v, definitions) for k, v in short.items()}
    return {key: _short(value, definitions) for key, value in short.items()}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """`str | None` with the default None is an argument that may be left out."""
    branches = schema.get("anyOf")
    if not branches or {"type": "null"} not in branches:
        return schema
    kept = [branch for branch in branches if branch != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**kept[0], **rest} if len(kept) == 1 else {**rest, "anyOf": kept}
