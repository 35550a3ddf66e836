"""Tables of all settings, made from the classes that read them."""

from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

OTHER = {
    "BATHYSPHERE_TARGETS": (
        "text",
        "Agents to serve if none are named on the command line, separated by spaces.",
    ),
    "BATHYSPHERE_DEBUG": ("boolean", "Show tracebacks of errors instead of a sentence."),
}
"""Variables that commands read themselves: type and meaning."""
_NAMES = {
    bool: "boolean",
    float: "number",
    int: "integer",
    Path: "path",
    SecretStr: "secret",
    str: "text",
}


def settings_classes() -> dict[str, type[BaseSettings]]:
    """The classes of settings by the heading of their table, in the order of the page."""
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.agents.simple.settings import SimpleSettings
    from bathysphere.middleware.memories.settings import MemorySettings
    from bathysphere.models.settings import ModelSettings
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.process.settings import ServerSettings
    from bathysphere.server.workspaces.settings import StorageSettings
    from bathysphere.tools.mcp.settings import McpSettings
    from bathysphere.tools.settings import FetchSettings, SearchSettings

    return {
        "Models": ModelSettings,
        "Server and workers": ServerSettings,
        "Research": ResearchSettings,
        "Web search": SearchSettings,
        "Reading web pages": FetchSettings,
        "Default agent": SimpleSettings,
        "Memory": MemorySettings,
        "MCP servers": McpSettings,
        "Team files": StorageSettings,
        "Payments": PaymentSettings,
    }


def settings_page() -> str:
    """All tables, as Markdown."""
    parts = []
    for title, settings in settings_classes().items():
        rows = [
            _row(variables(settings, name), field)
            for name, field in settings.model_fields.items()
            if not is_group(field)
        ]
        parts.append(_table(title, rows))
    rows = [f"| `{name}` | {kind} | – | {text} |" for name, (kind, text) in OTHER.items()]
    return "\n\n".join([*parts, _table("Commands", rows)])


def is_group(field: FieldInfo) -> bool:
    """Whether the field contains settings that have a table of their own."""
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings)


def variables(settings: type[BaseSettings], name: str) -> list[str]:
    """The variables that a field is read from, the first of them preferred."""
    alias = settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [str(alias or f"{settings.model_config['env_prefix']}{name}".upper())]


def _row(names: list[str], field: FieldInfo) -> str:
    first, *others = (f"`{name}`" for name in names)
    shown = f"{first}<br>or {', '.join(others)}" if others else first
    meaning = (field.description or "").replace("|", "\\|")
    return f"| {shown} | {_type(field.annotation)} | {_default(field)} | {meaning} |"


def _table(title: str, rows: list[str]) -> str:
    head = "| variable | type | default | meaning |\n|---|---|---|---|"
    return "\n".join((f"## {title}\n", head, *rows))


def _type(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in arguments if part is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return "pairs `name=value`"
    return _NAMES[annotation]


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined or value in (None, (), {}) or isinstance(value, SecretStr):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`"
    return f"`{value}`"
