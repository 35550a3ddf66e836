"""Tables of all errors, made from their classes and from where they are raised."""

import ast
import inspect
from dataclasses import dataclass, field
from pathlib import Path

FAMILIES = {
    "ConfigError": "The operator can fix it",
    "CallerError": "The caller can fix it",
    "UpstreamError": "Nobody can fix it now",
    "BathysphereError": "Others",
}
"""The bases of the tree of errors, and the headings of their tables."""
_ROOT = "BathysphereError"


@dataclass
class Error:
    """One class of the tree."""

    name: str
    bases: list[str]
    code: str
    meaning: str
    messages: set[tuple[str, str]] = field(default_factory=set)
    """What it says and the hint with it, as they are written where it is raised."""


def find_errors(package: Path) -> dict[str, Error]:
    """All errors of a package, by the name of their class, but not those of the test kit."""
    classes: list[ast.ClassDef] = []
    calls: list[tuple[ast.Call, ast.Module]] = []
    for path in sorted(package.rglob("*.py")):
        if "testing" not in path.relative_to(package).parts:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            nodes = list(ast.walk(tree))
            classes += [node for node in nodes if isinstance(node, ast.ClassDef)]
            calls += [(node, tree) for node in nodes if isinstance(node, ast.Call) and node.args]
    found = _tree_of_errors(classes)
    for call, module in calls:
        if error := found.get(_called(call)):
            _add_messages(error, call, module)
    return found


def _tree_of_errors(classes: list[ast.ClassDef]) -> dict[str, Error]:
    found: dict[str, Error] = {}
    before = -1
    while before != len(found):
        before = len(found)
        for node in classes:
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            if {_ROOT, *found} & set(bases) and (code := _code(node)):
                found[node.name] = Error(node.name, bases, code, _meaning(node))
    return found


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _code(node: ast.ClassDef) -> str | None:
    for line in node.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
            return str(ast.literal_eval(line.value))
    return None


def _meaning(node: ast.ClassDef) -> str:
    paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return inspect.cleandoc(paragraph).replace("\n", " ")


def _add_messages(error: Error, call: ast.Call, module: ast.Module) -> None:
    constants = {
        ast.unparse(node.targets[0]): node.value
        for node in module.body
        if isinstance(node, ast.Assign)
    }
    hints = [word.value for word in call.keywords if word.arg == "hint"]
    texts = _texts(hints[0], constants) if hints else {""}
    for message in filter(_has_words, _texts(call.args[0], constants)):
        error.messages |= {(message, hint) for hint in texts or {"…"}}


def _has_words(message: str) -> bool:
    return sum(letter.isalpha() for letter in message) > 3


def _texts(value: ast.expr, constants: dict[str, ast.expr]) -> set[str]:
    """What an expression may be as text; a part that is not known is shown as `…`."""
    if isinstance(value, ast.Constant):
        return {value.value} if isinstance(value.value, str) else set()
    if isinstance(value, ast.JoinedStr):
        return {"".join(_part(part, constants) for part in value.values)}
    if isinstance(value, ast.IfExp):
        return _texts(value.body, constants) | _texts(value.orelse, constants)
    if isinstance(value, ast.BoolOp):
        return set().union(*(_texts(part, constants) for part in value.values))
    if isinstance(value, ast.Name) and value.id in constants:
        return _texts(constants[value.id], {})
    return set()


def _part(part: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(part, ast.FormattedValue):
        known = _texts(part.value, constants)
        return known.pop() if len(known) == 1 else "…"
    return str(part.value) if isinstance(part, ast.Constant) else "…"


def errors_page(package: Path) -> str:
    """All errors, as Markdown."""
    errors = find_errors(package)
    parts = []
    for base, title in FAMILIES.items():
        family = [error for error in errors.values() if _family(error, errors) == base]
        parts.append(f"## {title}")
        parts += [_section(error, errors) for error in sorted(family, key=lambda e: e.code)]
    return "\n\n".join(parts)


def _section(error: Error, errors: dict[str, Error]) -> str:
    text = f"### {error.code}\n\n{error.meaning} HTTP status {_status(error, errors)}."
    rows = [
        f"| {_escape(message)} | {_escape(hint) or '–'} |"
        for message, hint in sorted(error.messages)
    ]
    return "\n".join((f"{text}\n", "| message | hint |\n|---|---|", *rows)) if rows else text


def _ancestors(error: Error, errors: dict[str, Error]) -> list[str]:
    """The error's class and those above it, the root last."""
    above = [_ancestors(errors[base], errors) for base in error.bases if base in errors]
    return [error.name, *(above[0] if above else [_ROOT])]


def _family(error: Error, errors: dict[str, Error]) -> str:
    return next(name for name in _ancestors(error, errors) if name in FAMILIES)


def _status(error: Error, errors: dict[str, Error]) -> int:
    from bathysphere.server.errors import FAMILY_STATUSES, STATUSES

    if error.code in STATUSES:
        return STATUSES[error.code]
    by_name = {kind.__name__: status for kind, status in FAMILY_STATUSES}
    return next((by_name[n] for n in _ancestors(error, errors) if n in by_name), 500)


def _escape(text: str) -> str:
    if text.count("`") % 2 or "``" in text:
        text = text.replace("`", "&#96;")
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")
