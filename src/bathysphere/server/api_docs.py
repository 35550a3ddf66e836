"""The page that describes the API: HTML made from the OpenAPI schema, without scripts.

Pages with scripts from other hosts stay blank under our content security policy.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]
_METHODS = ("get", "put", "post", "patch", "delete")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .3rem 0 } code { font-size: .9em }
details { border-bottom: 1px solid #8884 } table { border-collapse: collapse; margin: .5rem 0 1rem }
td, th { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0 }
b { display: inline-block; min-width: 4.5rem } :root { color-scheme: light dark }
"""


def content_policy() -> str:
    """The page's own content security policy: nothing but its style."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )


def render_docs(schema: Schema) -> str:
    """Render the page."""
    title = escape(schema["info"]["title"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width">',
        f"<title>{title} API</title><style>{_STYLE}</style>",
        f"<h1>{title} API</h1><p>{escape(schema['info'].get('summary', ''))}",
        ' The same as JSON: <a href="openapi.json">openapi.json</a>.</p>',
    ]
    for tag, operations in _by_tag(schema).items():
        parts.append(f"<h2>{escape(tag)}</h2>")
        parts += [_operation(*operation) for operation in operations]
    parts.append("<h2>Schemas</h2>")
    named = schema.get("components", {}).get("schemas", {})
    parts += [_named_schema(name, named[name]) for name in sorted(named)]
    return "\n".join(parts) + "</html>"


def _by_tag(schema: Schema) -> dict[str, list[tuple[str, str, Schema]]]:
    found: dict[str, list[tuple[str, str, Schema]]] = {}
    for path, operations in schema["paths"].items():
        for method in (method for method in _METHODS if method in operations):
            operation = operations[method]
            tag = (operation.get("tags") or ["default"])[0]
            found.setdefault(tag, []).append((method.upper(), path, operation))
    return found


def _operation(method: str, path: str, operation: Schema) -> str:
    summary = escape(operation.get("summary", ""))
    described = escape(operation.get("description") or operation.get("summary", ""))
    parts = [
        f"<details><summary><b>{method}</b><code>{escape(path)}</code> {summary}</summary>"
        f"<p>{described}</p>"
    ]
    if parameters := operation.get("parameters"):
        rows = [
            (p["name"], f"{_type(p.get('schema', {}))} in {p['in']}", p.get("description", ""))
            for p in parameters
        ]
        parts.append(_table("Parameters", rows))
    if body := operation.get("requestBody"):
        parts.append(f"<p>Body: {', '.join(_contents(body))}</p>")
    rows = [
        (status, ", ".join(_contents(answer)), answer.get("description", ""))
        for status, answer in operation.get("responses", {}).items()
    ]
    return "".join([*parts, _table("Responses", rows, is_html=True), "</details>"])


def _contents(holder: Schema) -> Iterator[str]:
    for kind, content in holder.get("content", {}).items():
        yield f"<code>{escape(kind)}</code> {_link(_type(content.get('schema', {})))}"


def _named_schema(name: str, schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (
            f"{field}{' (required)' if field in required else ''}",
            _type(part),
            part.get("description", ""),
        )
        for field, part in schema.get("properties", {}).items()
    ]
    shown = escape(schema.get("description", ""))
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<p>{shown}</p>{_table('Fields', rows)}</details>"
    )


def _type(schema: Schema) -> str:
    """A type in words, such as `list of string or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[choice])))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _link(name: str) -> str:
    return f'<a href="#{escape(name)}">{escape(name)}</a>' if name.isidentifier() else escape(name)


def _table(title: str, rows: list[tuple[str, str, str]], *, is_html: bool = False) -> str:
    """A table; with `is_html` its middle column is HTML already."""
    if not rows:
        return ""
    lines = (
        f"<tr><td><code>{escape(name)}</code><td>{kind if is_html else escape(kind)}"
        f"<td>{escape(text)}"
        for name, kind, text in rows
    )
    return f"<table><tr><th>{title}<th>Type<th>{''.join(lines)}</table>"
