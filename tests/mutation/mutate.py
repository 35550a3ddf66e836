"""Mutation testing of the code that handles money: change it a little, see whether a test notices.

    python tests/mutation/mutate.py [--only validator] [--limit 50] [--workers 2]

Each mutant runs in a fork of a process that has collected the unit tests of its module, with the
changed code put into the live function (or with the module reloaded). A mutant that passes
them all is a survivor, and is printed. Last line: JSON. Those that are known, with
their reasons: docs/payments-protocol.md.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "bathysphere" / "payments"
TESTS = ROOT / "tests"
UNIT, LEDGER = "unit/payments/", "integration/payments/"
TIMEOUT = 300.0
MODULES = {
    "nuts/curve": [UNIT + "test_vectors", UNIT + "test_core"],
    "nuts/cbor": [UNIT + "test_core", UNIT + "test_validator"],
    "nuts/proofs": [UNIT + "test_core", UNIT + "test_mint"],
    "nuts/keysets": [UNIT + "test_core", UNIT + "test_vectors"],
    "nuts/tokens": [UNIT + "test_core", UNIT + "test_vectors", UNIT + "test_validator"],
    "nuts/locks": [UNIT + "test_core", UNIT + "test_validator"],
    "nuts/derivation": [UNIT + "test_vectors", UNIT + "test_core"],
    "nuts/requests": [UNIT + "test_core", UNIT + "test_vectors"],
    "session_keys": [UNIT + "test_core"],
    "validator": [UNIT + "test_validator"],
    "deposits": [UNIT + "test_deposits"],
    "mint": [UNIT + "test_mint"],
    "swaps": [UNIT + "test_swaps"],
    "settlement": [UNIT + "test_settlement"],
    "pricing": [UNIT + "test_pricing"],
    "service": [LEDGER + "test_service"],
    "ledger/accounts": [LEDGER + "test_service", LEDGER + "test_ledger"],
    "ledger/audit": [LEDGER + "test_ledger"],
    "ledger/records": [LEDGER + "test_ledger"],
    "ledger/refunds": [LEDGER + "test_ledger"],
    "ledger/sealing": [LEDGER + "test_ledger"],
    "ledger/swaps": [LEDGER + "test_ledger"],
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
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            yield node
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


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one module: which node of its tree, and which of the node's changes."""

    module: str
    place: int
    variant: int
    line: int
    was: str
    now: str
    function: str
    """The function that it is in, or nothing: then it acts when the module is loaded."""

    def code(self) -> CodeType:
        """The changed module, compiled."""
        tree = parsed(self.module)
        node = next(each for n, each in enumerate(ast.walk(tree)) if n == self.place)
        by = next(c for n, c in enumerate(changes(node)) if n == self.variant)
        changed = ast.fix_missing_locations(Replace(node, by).visit(tree))
        return compile(changed, f"<mutant of {self.module}>", "exec")


def parsed(module: str) -> ast.Module:
    return ast.parse((SRC / f"{module}.py").read_text(encoding="utf-8"))


def mutants(module: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    tree = parsed(module)
    homes = dict(_homes(tree))
    skipped = Skipped(tree).nodes | {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.FormattedValue)
        and node.format_spec for part in ast.walk(node.format_spec)
    }  # fmt: skip
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for variant, changed in enumerate(changes(node)):
            yield Mutant(
                module=module, place=place, variant=variant, line=getattr(node, "lineno", 0),
                was=_text(node), now=_text(changed), function=homes.get(id(node), ""),
            )  # fmt: skip


def _homes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """For each node in a function's body, the name of the outermost function."""
    outer = [("", node) for node in tree.body]
    outer += [
        (f"{node.name}.", inner)
        for node in tree.body if isinstance(node, ast.ClassDef) for inner in node.body
    ]  # fmt: skip
    for prefix, node in outer:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                for inner in ast.walk(statement):
                    yield id(inner), prefix + node.name


def _text(node: ast.AST) -> str:
    first = ast.unparse(node).splitlines()[0]
    return first if len(first) <= 90 else first[:90] + "…"


# ── running ──

PACKAGE = "bathysphere.payments."
# Only the plugins that the tests use: loading the others takes longer than the tests.
OPTIONS = "-p pytest_asyncio.plugin -p pytest_timeout -p no:cacheprovider -x -q --timeout=60"
QUIET = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the changed module in the place of the real one."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = PACKAGE + mutant.module.replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module) -> None:
        exec(self.mutant.code(), module.__dict__)


def put_in(mutant: Mutant) -> None:
    """Give the living function the changed code: whoever imported it has the mutant now."""
    module = sys.modules[PACKAGE + mutant.module.replace("/", ".")]
    found = module.__dict__
    for part in mutant.function.split("."):
        found = found[part] if isinstance(found, dict) else found.__dict__[part]
    function = getattr(found, "fget", None) or getattr(found, "__func__", found)
    function.__code__ = _code_of(mutant.code(), mutant.function)


def _code_of(code: CodeType, name: str) -> CodeType:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    for const in inner:
        if const.co_qualname == name:
            return const
        if name.startswith(const.co_qualname + "."):
            return _code_of(const, name)
    raise LookupError(name)


def forked(act: Callable[[], bool]) -> bool:
    """Run it in a fork that says nothing; whether it was true. One that hangs or dies was not."""
    pid = os.fork()
    if pid == 0:
        verdict = False
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            verdict = act()
        finally:
            os._exit(0 if verdict else 1)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def run_tests(module: str, *plugins: object) -> bool:
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    files = [str(TESTS / f"{name}.py") for name in MODULES[module]]
    return pytest.main([*OPTIONS.split(), *QUIET, *files], plugins=list(plugins)) == 0


class Judge:
    """A pytest plugin: collects once, then runs the tests on each mutant in a fork of its own.

    The test that noticed the last mutant comes first for the next one, random tests come last.
    """

    def __init__(self, jobs: list[Mutant], tell: Callable[[Mutant, bool], None]) -> None:
        self.jobs, self.tell = jobs, tell
        self.noticed = mmap.mmap(-1, 8)  # shared with the forks: which test it was

    def pytest_runtestloop(self, session) -> bool:
        items = sorted(session.items, key=_is_random)
        assert forked(lambda: self.passes(session, items, None)), "it fails without a mutant"
        for mutant in self.jobs:
            survived = forked(lambda chosen=mutant: self.passes(session, items, chosen))
            self.tell(mutant, survived)
            if not survived:
                items.insert(0, items.pop(int.from_bytes(self.noticed[:8], "big")))
        return True

    def passes(self, session, items, mutant: Mutant | None) -> bool:
        self.noticed[:8] = bytes(8)
        if mutant is not None:
            put_in(mutant)
        try:
            for number, item in enumerate(items):
                # Told of the next one, pytest keeps the database for it.
                after = items[number + 1] if number + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if session.testsfailed:
                    self.noticed[:8] = number.to_bytes(8, "big")
                    return False
        finally:
            session._setupstate.teardown_exact(None)
        return True


def _is_random(item) -> bool:
    return hasattr(item.obj, "hypothesis") or "random" in item.name


def reloaded(mutant: Mutant) -> bool:
    sys.meta_path.insert(0, Mutated(mutant))
    return run_tests(mutant.module)


def preload() -> None:
    """Load what every child needs, and nothing of what is mutated."""
    sys.dont_write_bytecode = False  # the rewritten tests are compiled once, not once a mutant
    for name in ("pytest", "pytest_asyncio", "hypothesis", "httpx", "coincurve", "psycopg",
                 "psycopg_pool", "bathysphere.testing.fixtures"):  # fmt: skip
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.startswith(PACKAGE)]
    assert not loaded, loaded


_DATABASE = """
import sys
sys.path.insert(0, sys.argv[1])
from ledger_rig import own_database
with own_database() as database:
    print(database.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def ledger_database() -> Iterator[None]:
    """A database for the tests of the ledger, made by a process that loads what is mutated."""
    command = [sys.executable, "-c", _DATABASE, str(TESTS / LEDGER)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as maker:
        os.environ["PAYMENTS_DATABASE"] = maker.stdout.readline().strip()
        yield


def work(jobs: list[Mutant], channel: int) -> None:
    """One worker: judge its share of the mutants and write a line for each."""
    with os.fdopen(channel, "w", buffering=1) as out, ledger_database():

        def tell(mutant: Mutant, survived: bool) -> None:
            out.write(json.dumps({**asdict(mutant), "survived": survived}) + "\n")
            if survived:
                sys.stderr.write(f"{mutant.module}:{mutant.line} {mutant.was} → {mutant.now}\n")

        for module in MODULES:
            mine = [mutant for mutant in jobs if mutant.module == module]
            for mutant in mine:
                if not mutant.function:
                    tell(mutant, forked(lambda chosen=mutant: reloaded(chosen)))
            inner = [mutant for mutant in mine if mutant.function]
            if inner:
                judge(module, inner, tell)


def judge(module: str, jobs: list[Mutant], tell: Callable[[Mutant, bool], None]) -> None:
    """In a fork, so that the worker itself never loads what is mutated."""
    pid = os.fork()
    if pid == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        run_tests(module, Judge(jobs, tell))
        os._exit(0)
    os.waitpid(pid, 0)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="", help="modules whose name contains this")
    options.add_argument("--limit", type=int, default=0, help="at most so many, evenly spread")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    os.chdir(ROOT)
    preload()
    jobs = [mutant for m in MODULES if given.only in m for mutant in mutants(m)]
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
