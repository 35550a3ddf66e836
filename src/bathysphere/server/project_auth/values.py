"""What a project's handler is given about a run or a store item, and the body that follows from it.

The fields are those of `langgraph_sdk.auth.types`.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

Json = dict[str, Any]
_RUN_FIELDS = ("assistant_id", "multitask_strategy", "if_not_exists", "after_seconds")
_NAMESPACE = {"search": "namespace_prefix", "list_namespaces": "prefix"}
"""The field of a body that has the namespace, where it is not `namespace`."""


def run_value(fields: Mapping[str, Any], thread_id: UUID | None) -> Json:
    """Describe a run to be created, as `RunsCreate`."""
    known = {name: fields[name] for name in _RUN_FIELDS if name in fields}
    rest = {k: v for k, v in fields.items() if k not in (*_RUN_FIELDS, "metadata")}
    metadata = fields.get("metadata")
    return {
        "thread_id": thread_id,
        "run_id": None,
        "status": "pending",
        **known,
        "metadata": dict(metadata) if isinstance(metadata, Mapping) else {},
        "kwargs": rest,
    }


def run_body(value: Mapping[str, Any], fields: Mapping[str, Any]) -> Json:
    """The fields of a run as the handler left them."""
    known = {name: value[name] for name in _RUN_FIELDS if value.get(name) is not None}
    body = {**(value.get("kwargs") or {}), **known}
    if value.get("metadata") or "metadata" in fields:
        body["metadata"] = value.get("metadata")
    return body


def store_value(action: str, body: Mapping[str, Any], query: Mapping[str, str]) -> Json:
    """Describe a store operation; the namespace is a tuple."""
    if action == "get":
        names = [part for part in query.get("namespace", "").split(".") if part]
        return {"namespace": tuple(names), "key": query.get("key", "")}
    field = _NAMESPACE.get(action, "namespace")
    rest = {name: value for name, value in body.items() if name != field}
    found = body.get(field)
    return {**rest, "namespace": tuple(found) if isinstance(found, list) else ()}


def store_body(action: str, value: Mapping[str, Any], body: Mapping[str, Any]) -> Json:
    """The body of a store operation as the handler left it."""
    field = _NAMESPACE.get(action, "namespace")
    rest = {name: one for name, one in value.items() if name in body and name != field}
    return {**rest, field: list(value["namespace"] or ())}
