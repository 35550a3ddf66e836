"""The schema of a person's answer when they review the nodes of an argument map."""

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, Field, create_model, model_validator

_VERDICTS = ("accept", "refuse")


def decisions_on(nodes: Sequence[str]) -> type[Any]:
    """Return the model of an answer: accept or refuse per node, both optional, and free text."""
    offered = {f"{verdict}:{node}" for node in nodes for verdict in _VERDICTS}

    def sound(self: Any) -> Any:
        unknown = [choice for choice in self.selected if choice not in offered]
        decided = [choice.partition(":")[2] for choice in self.selected]
        if unknown:
            message = f"not among the options: {', '.join(unknown)}"
        elif len(set(decided)) < len(decided):
            message = "decide on each node only once"
        elif not decided and not self.freeform:
            message = "choose an option or enter text"
        else:
            return self
        raise ValueError(message)

    return create_model(
        "Decisions",
        __config__=ConfigDict(
            extra="forbid", str_strip_whitespace=True, json_schema_extra=_sound(nodes, offered)
        ),
        __validators__={"sound": model_validator(mode="after")(sound)},  # type: ignore[dict-item]
        selected=(list[str], Field(default=[], max_length=len(nodes))),
        freeform=(str | None, Field(default=None, max_length=20_000)),
    )


def _sound(nodes: Sequence[str], offered: set[str]) -> dict[str, Any]:
    """Return the same rules as JSON Schema, with which the server validates an answer."""
    both = [
        {"allOf": [{"contains": {"const": f"{verdict}:{node}"}} for verdict in _VERDICTS]}
        for node in nodes
    ]
    selected = {"items": {"enum": sorted(offered)}, "uniqueItems": True, "not": {"anyOf": both}}
    decided = {"required": ["selected"], "properties": {"selected": {"minItems": 1}}}
    words = {"type": "string", "pattern": r"\S"}
    said = {"required": ["freeform"], "properties": {"freeform": words}}
    return {"allOf": [{"properties": {"selected": selected}}, {"anyOf": [decided, said]}]}
