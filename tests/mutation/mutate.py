"""Mutation testing of the code that handles money: change it a little, see whether a test notices.

    python tests/mutation/mutate.py [--only validator] [--limit 50] [--workers 2]

One mutant at a time, in a fork of a process that has the libraries loaded, against the unit tests
of its module. A mutant that passes them all is a survivor, and is printed. Last line: JSON.
Survivors that are known, with their reasons: docs/payments-protocol.md.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "bathysphere" / "payments"
TESTS = ROOT / "tests" / "unit" / "payments"
TIMEOUT = 120.0
MODULES = {
    "nuts/curve": ["test_vectors", "test_core"],
    "nuts/cbor": ["test_core", "test_validator"],
    "nuts/proofs": ["test_core", "test_mint"],
    "nuts/keysets": ["test_core", "test_vectors"],
    "nuts/tokens": ["test_core", "test_vectors", "test_validator"],
    "nuts/locks": ["test_core", "test_validator"],
    "nuts/derivation": ["test_vectors", "test_core"],
    "nuts/requests": ["test_core", "test_vectors"],
    "session_keys": ["test_core"],
    "validator": ["test_validator"],
    "deposits": ["test_deposits"],
    "mint": ["test_mint"],
    "swaps": ["test_swaps"],
    "settlement": ["test_settlement"],
}

# ── mutants ──

COMPARE = {
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.Lt], ast.In: [ast.NotIn],
    ast.NotIn: [ast.In], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
}  # fmt: skip
BINARY = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip


class Skipped(ast.NodeVisitor):
    """Finds what is not worth a mutant: words to people, types, imports."""

    def __init__(self, tree: ast.Module) -> None:
        self.nodes: set[int] = set()
        self.visit(tree)

    def skip(self, node: ast.AST | None) -> None:
        if node is not None:
            self.nodes |= {id(inner) for inner in ast.walk(node)}

    def generic_visit(self, node: ast.AST) -> None:
        for inner in _not_worth_it(node):
            self.skip(inner)
        super().generic_visit(node)


def _not_worth_it(node: ast.AST) -> Iterator[ast.AST | None]:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            yield node  # docstrings and imports
        case ast.AnnAssign() | ast.arg():
            yield node.annotation
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (node.returns, *node.decorator_list)
        case ast.ClassDef():
            yield from (*node.decorator_list, *node.bases)
        case ast.Assign() if _is_for_people(node):
            yield node
        case ast.Call() if _name(node.func) in _RAISED:
            yield from node.args


_RAISED = {"BadWire", "MintUnknown", "MintUnfit", "BadAnswer", "_nonsense", "_bad", "cast"}


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_for_people(node: ast.Assign) -> bool:
    """`message = "…"` before a raise; type aliases."""
    return all(_name(target) in {"message", "message_text", "names"} for target in node.targets)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Every small change of one node, as a node to put in its place."""
    for kinds, change in CHANGES:
        if isinstance(node, kinds):
            yield from change(node)


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for place, operator in enumerate(node.ops):
        for other in COMPARE[type(operator)]:
            changed = copy.deepcopy(node)
            changed.ops[place] = other()
            yield changed


def _joined(node: ast.BoolOp) -> Iterator[ast.AST]:
    changed = copy.deepcopy(node)
    changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield changed


def _computed(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    if type(node.op) in BINARY:
        changed = copy.deepcopy(node)
        changed.op = BINARY[type(node.op)]()
        yield changed


def _negated(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not):
        yield copy.deepcopy(node.operand)


def _decided(node: ast.If | ast.IfExp | ast.While) -> Iterator[ast.AST]:
    changed = copy.deepcopy(node)
    changed.test = ast.UnaryOp(op=ast.Not(), operand=changed.test)
    yield changed


def _returned(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and getattr(node.value, "value", node) is not None:
        yield ast.Return(value=ast.Constant(value=None))


def _left_out(node: ast.Raise | ast.Expr) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise) or isinstance(node.value, ast.Call | ast.Await):
        yield ast.Pass()


def _ended(_node: ast.Continue) -> Iterator[ast.AST]:
    yield ast.Break()


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(value=not value)
    elif isinstance(value, int):
        yield ast.Constant(value=value + 1)
    elif isinstance(value, str) and value:
        yield ast.Constant(value=f"XX{value}")
    elif isinstance(value, bytes) and value:
        yield ast.Constant(value=b"XX" + value)


CHANGES = (
    (ast.Compare, _compared),
    (ast.BoolOp, _joined),
    (ast.BinOp | ast.AugAssign, _computed),
    (ast.UnaryOp, _negated),
    (ast.Constant, _constants),
    (ast.If | ast.IfExp | ast.While, _decided),
    (ast.Return, _returned),
    (ast.Raise | ast.Expr, _left_out),
    (ast.Continue, _ended),
)


class Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, by: ast.AST) -> None:
        self.target, self.by = target, by

    def visit(self, node: ast.AST) -> ast.AST:
        return self.by if node is self.target else super().visit(node)


def mutants(module: str) -> Iterator[tuple[int, str, str, str]]:
    """Line, what was, what is, and the whole changed source, for each mutant of a module."""
    tree = ast.parse((SRC / f"{module}.py").read_text(encoding="utf-8"))
    skipped = Skipped(tree).nodes
    inside_f_string = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.FormattedValue)
        and node.format_spec for part in ast.walk(node.format_spec)
    }  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in skipped or id(node) in inside_f_string:
            continue
        for changed in changes(node):
            whole = ast.fix_missing_locations(_replaced(tree, node, changed))
            yield getattr(node, "lineno", 0), _text(node), _text(changed), ast.unparse(whole)


def _replaced(tree: ast.Module, node: ast.AST, by: ast.AST) -> ast.Module:
    """A copy of the tree with one node replaced; nodes are matched by their place in the walk."""
    place = next(n for n, each in enumerate(ast.walk(tree)) if each is node)
    twin = copy.deepcopy(tree)
    target = next(each for n, each in enumerate(ast.walk(twin)) if n == place)
    changed = Replace(target, by).visit(twin)
    assert isinstance(changed, ast.Module)
    return changed


def _text(node: ast.AST) -> str:
    first = ast.unparse(node).splitlines()[0]
    return first if len(first) <= 90 else first[:90] + "…"


# ── running ──


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the changed source in the place of one module."""

    def __init__(self, module: str, source: str) -> None:
        self.name = "bathysphere.payments." + module.replace("/", ".")
        self.source = source

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module) -> None:
        exec(compile(self.source, f"<mutant of {self.name}>", "exec"), module.__dict__)


def preload() -> None:
    """Load what every child needs, and nothing of what is mutated."""
    sys.dont_write_bytecode = False  # the rewritten tests are compiled once, not once a mutant
    for name in ("pytest", "pytest_asyncio", "hypothesis", "httpx", "coincurve", "psycopg",
                 "psycopg_pool", "bathysphere.testing.fixtures"):  # fmt: skip
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.startswith("bathysphere.payments.")]
    assert not loaded, loaded


def run_child(module: str, source: str, tests: list[str]) -> None:
    """In the fork: run the tests against the mutant and end with pytest's verdict."""
    import pytest

    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.meta_path.insert(0, Mutated(module, source))
    files = [str(TESTS / f"{name}.py") for name in tests]
    # Only the plugins that the tests use: loading the others takes longer than the tests.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = "-p pytest_asyncio.plugin -p pytest_timeout -p no:cacheprovider -x -q --timeout=60"
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    verdict = 1  # a mutant may break anything, pytest too, and that is a kill
    try:
        verdict = int(pytest.main([*options.split(), *quiet, *files]))
    finally:
        os._exit(0 if verdict == 0 else 1)


def start(module: str, source: str, tests: list[str]) -> int:
    pid = os.fork()
    if pid == 0:
        run_child(module, source, tests)
    return pid


def survives(module: str, source: str, tests: list[str]) -> bool:
    """Whether all the tests pass on the mutant; one that hangs is noticed."""
    pid = start(module, source, tests)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def work(jobs: list[tuple[str, int, str, str, str]], channel: int) -> None:
    """One worker: judge its share of the mutants and write a line for each."""
    with os.fdopen(channel, "w") as out:
        for number, (module, line, was, now, source) in enumerate(jobs, 1):
            survived = survives(module, source, MODULES[module])
            fields = {"module": module, "line": line, "was": was, "now": now, "survived": survived}
            out.write(json.dumps(fields) + "\n")
            out.flush()
            if survived or number % 20 == 0:
                found = f"survived: {module}:{line} {was} → {now}" if survived else module
                sys.stderr.write(f"{number}/{len(jobs)} {found}\n")


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="", help="modules whose name contains this")
    options.add_argument("--limit", type=int, default=0, help="at most so many, evenly spread")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    os.chdir(ROOT)
    preload()
    every = sorted({name for names in MODULES.values() for name in names})
    unchanged = (SRC / "validator.py").read_text(encoding="utf-8")
    assert survives("validator", unchanged, every), "the tests fail without any mutant"
    jobs = [(m, *found) for m in MODULES if given.only in m for found in mutants(m)]
    if given.limit and len(jobs) > given.limit:
        jobs = [jobs[n * len(jobs) // given.limit] for n in range(given.limit)]
    readers = []
    for number in range(given.workers):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            work(jobs[number :: given.workers], writer)
            os._exit(0)
        os.close(writer)
        readers.append(reader)
    began = time.monotonic()
    results = []
    for reader in readers:
        with os.fdopen(reader) as lines:
            results += [json.loads(line) for line in lines]
    for _ in readers:
        os.wait()
    return report(results, len(jobs), time.monotonic() - began)


def report(results: list[dict], expected: int, seconds: float) -> int:
    survivors = sorted(
        (one for one in results if one["survived"]), key=lambda one: (one["module"], one["line"])
    )
    for one in survivors:
        sys.stdout.write(f"{one['module']}:{one['line']}  {one['was']}  →  {one['now']}\n")
    killed = len(results) - len(survivors)
    by_module = {
        module: f"{sum(not r['survived'] for r in results if r['module'] == module)}"
        f"/{sum(r['module'] == module for r in results)}"
        for module in MODULES
        if any(r["module"] == module for r in results)
    }
    percent = round(100 * killed / max(len(results), 1), 1)
    line = {"mutants": len(results), "killed": killed, "percent": percent,
            "seconds": round(seconds), "modules": by_module}  # fmt: skip
    sys.stdout.write(json.dumps(line) + "\n")
    return 0 if len(results) == expected and percent >= 90 else 1


if __name__ == "__main__":
    sys.exit(main())
