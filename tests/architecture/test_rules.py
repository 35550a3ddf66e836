"""Project rules as tests, so that reviewers need not repeat them.

Lists of exceptions in this file may only shrink.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "bathysphere"
MODULES = sorted(SRC.rglob("*.py"))
EDGE = ("cli", "server", "testing", "compat.py", "graphs.py")
"""The parts that may read the environment and make settings."""

MAX_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_SHARE_OF_LONG_FUNCTIONS = 0.05

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def place(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def below_the_edge() -> list[Path]:
    return [path for path in MODULES if path.relative_to(SRC).parts[0] not in EDGE]


def dotted(node: ast.AST) -> str:
    """The dotted name `a.b.c` of an expression, or an empty string."""
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) else ""


def uses(path: Path) -> set[str]:
    """Every dotted name that a module uses or imports."""
    names = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute | ast.Name):
            names.add(dotted(node))
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


# ── size ──


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_modules_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_few_functions_are_long():
    sizes = {
        f"{place(path)}:{node.name}": function_lines(node)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    long = sorted(name for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES)
    assert len(long) <= MAX_SHARE_OF_LONG_FUNCTIONS * len(sizes), long


# ── names ──


def test_module_names_say_what_is_inside():
    vague = {"utils", "util", "helpers", "common", "base", "types", "misc"}
    assert [place(path) for path in MODULES if path.stem in vague] == []
    folders = {part for path in MODULES for part in path.relative_to(SRC).parts[:-1]}
    assert folders & vague == set()


def test_error_codes_are_unique():
    codes = Counter(
        node.value.value
        for tree in TREES.values()
        for cls in ast.walk(tree)
        if isinstance(cls, ast.ClassDef)
        for node in cls.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and "code" in [dotted(t) for t in getattr(node, "targets", [getattr(node, "target", None)])]
    )
    assert codes["bathysphere_error"] == 1
    assert [code for code, times in codes.items() if times > 1] == []


# ── boundaries ──


def test_only_the_harness_build_calls_deepagents_factory():
    factory = {"deepagents.create_deep_agent", "deepagents.graph.create_deep_agent"}
    # The other one is what evaluations compare the harness with.
    allowed = {"harness/build.py", "evaluation/bare.py"}
    assert {place(path) for path in MODULES if uses(path) & factory} == allowed


def private_imports(tree: ast.AST) -> set[str]:
    """Names and modules with a leading underscore that are imported from other packages."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    foreign = {name for name in imported if name.split(".")[0] not in {"bathysphere", "__future__"}}
    return {name for name in foreign if any(part.startswith("_") for part in name.split("."))}


def test_private_names_of_other_packages_are_imported_in_one_place():
    """So that there is one list to read when the agent stack is upgraded."""
    found = {place(path): private_imports(tree) for path, tree in TREES.items()}
    assert {path for path, names in found.items() if names} == {"upstream.py"}


@pytest.mark.parametrize(
    "line",
    [
        "from langgraph._internal._constants import TASKS",
        "from deepagents.backends.utils import _get_file_type",
        "import langgraph._internal",
        "def late():\n    from langchain.agents import _private",
    ],
)
def test_the_rule_sees_a_private_import(line):
    assert private_imports(ast.parse(line))


READS_THE_ENVIRONMENT = {"os.environ", "os.getenv", "os.environb", "os.putenv", "environ", "getenv"}
READS_THE_CLOCK = {
    "time.time",
    "time.time_ns",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "date.today",
    "datetime.date.today",
}


def test_nothing_below_the_edge_reads_the_environment():
    found = {place(path): uses(path) & READS_THE_ENVIRONMENT for path in below_the_edge()}
    assert {path for path, names in found.items() if names} == set()


def test_only_the_clock_module_reads_the_system_time():
    found = {place(path): uses(path) & READS_THE_CLOCK for path in below_the_edge()}
    assert {path for path, names in found.items() if names} == {"core/clock.py"}


def calls_in(path: Path) -> set[str]:
    return {dotted(node.func) for node in ast.walk(TREES[path]) if isinstance(node, ast.Call)}


def test_nothing_below_the_edge_makes_settings():
    makes = re.compile(r"(^|\.)\w+Settings$|\.from_environment$")
    found = {place(path) for path in below_the_edge() if any(map(makes.search, calls_in(path)))}
    assert found == set()


def test_a_run_context_is_read_in_one_place():
    """So that one rule decides which run context is trusted."""
    reads = re.compile(r"(untime|untime\(\))\.context\b")
    found = {place(path) for path in TREES if reads.search(path.read_text(encoding="utf-8"))}
    assert found <= {"core/run_context.py"}


# ── broad excepts ──

SWALLOWS_EVERYTHING: dict[str, int] = {
    "cli/doctor.py": 1,
    "cli/main.py": 1,
    "cli/talk/session.py": 1,
    "engine/runs/executor.py": 1,
    "middleware/limits.py": 1,
}
"""Handlers that catch everything and do not always raise again. Numbers may only go down."""


def broad_handlers(path: Path) -> list[ast.ExceptHandler]:
    return [
        node
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or dotted(node.type) in {"Exception", "BaseException"})
    ]


def test_broad_exception_handlers_only_get_fewer():
    found = {
        place(path): count
        for path in MODULES
        if (count := sum(not isinstance(h.body[-1], ast.Raise) for h in broad_handlers(path)))
    }
    assert found == SWALLOWS_EVERYTHING


def test_a_silenced_rule_has_a_reason():
    silenced = re.compile(r"#\s*noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)*(  # \S+|$))")
    blind = re.compile(r"# noqa: BLE001(?!  # \S)")
    wrong = [
        f"{place(path)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if silenced.search(line) or blind.search(line)
    ]
    assert wrong == []


# ── the public API ──

IMPORT_EACH = """
import importlib, sys
package = importlib.import_module(sys.argv[1])
assert not {"langgraph", "langchain", "deepagents"} & set(sys.modules), "work at import"
for name in sorted(package.__all__, reverse=sys.argv[2] == "backwards"):
    assert getattr(package, name) is not None, name
"""


@pytest.mark.parametrize("order", ["forwards", "backwards"])
@pytest.mark.parametrize("package", ["bathysphere", "bathysphere.testing"])
def test_every_public_name_loads_in_a_fresh_interpreter(package, order):
    command = [sys.executable, "-W", "error::ImportWarning", "-c", IMPORT_EACH, package, order]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_root_has_at_most_twenty_public_names():
    import bathysphere

    assert len(bathysphere.__all__) <= 20


# ── packaging and locked dependencies ──


def test_the_newest_version_of_the_changelog_is_the_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest
    assert newest.group(1) == PYPROJECT["project"]["version"]


@pytest.mark.parametrize("name", ["deepagents", "langgraph", "langchain"])
def test_the_agent_stack_is_pinned_exactly(name):
    [pin] = [d for d in PYPROJECT["project"]["dependencies"] if re.match(rf"{name}\b(?!-)", d)]
    assert re.fullmatch(rf"{name}==\d+\.\d+\.\d+", pin)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert f"\n{pin} " in lock


def test_every_locked_requirement_has_hashes():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in lock.splitlines() if line and not line.lstrip().startswith("#")]
    pinned = re.compile(r"[a-z0-9._-]+(\[[a-z0-9,_-]+\])?==\S+( ; .+)? \\")
    hashed = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert pinned.fullmatch(line) or hashed.fullmatch(line), line
        if pinned.fullmatch(line):
            assert hashed.fullmatch(following), f"no hash: {line}"
    assert not (ROOT / "uv.lock").exists()


def test_node_packages_are_locked_by_hash_without_addresses():
    locks = [ROOT / name for name in repository_files() if name.endswith("package-lock.json")]
    assert locks
    for lock in locks:
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        assert [name for name, entry in packages.items() if "resolved" in entry] == []
        assert all("integrity" in entry for name, entry in packages.items() if name)


REGISTRY = re.compile(
    "|".join(
        (
            r"pypi\." + "org",
            r"python" + r"hosted\.org",
            r"npm" + r"js\.(org|com)",
            r"yarn" + r"pkg\.com",
            r"--(extra-)?index" + r"-url\b",
            r"^registry" + r"\s*=",
        )
    ),
    re.MULTILINE,
)
"""Addresses of package registries; written in parts, so that this file has none."""


def repository_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({name for name in listed.stdout.splitlines() if (ROOT / name).is_file()})


def test_no_file_has_the_address_of_a_package_registry():
    found = []
    for name in repository_files():
        text = (ROOT / name).read_text(encoding="utf-8", errors="ignore")
        found += [f"{name}: {match.group()}" for match in REGISTRY.finditer(text)]
    assert found == []


# ── documents ──

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_context_and_a_revisit_trigger(path):
    headings = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == ["Status", "Context", "Decision", "Consequences", "Revisit when"]


def test_decisions_are_numbered_without_a_gap():
    assert [path.name[:4] for path in DECISIONS] == [f"{n + 1:04}" for n in range(len(DECISIONS))]
    assert len(DECISIONS) >= 4


@pytest.mark.parametrize("package", ["engine", "payments"])
def test_migrations_of_a_package_have_unique_numbers(package):
    names = [path.name for path in (SRC / package / "migrations").glob("*.sql")]
    numbers = Counter(name.split("_")[0] for name in names)
    assert names
    assert [number for number, count in numbers.items() if count > 1] == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_a_map_stays_short_enough_to_read(name):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= 220
