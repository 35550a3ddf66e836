"""A lost database connection is converted on every path: no model or person sees a driver's error.

Calls from a graph run under `storage_errors()`: the attempt ends and is retried. Calls from the API
or a worker are converted once, by the caller.
"""

import ast
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "src" / "bathysphere" / "engine"
MAPPED_BY_CALLER = {
    ("answers.py", "Answers"): "routes only: server/errors.py answers 503",
    ("assistants.py", "Assistants"): "routes only: server/errors.py answers 503",
    ("attempts.py", "Attempts"): "Executor: `retry_storage`, or `Requeue` where nothing was begun",
    ("log.py", "AuditLog"): "routes answer 503, the command line says it in one sentence",
    ("budgets.py", "Budgets"): "`spent`: logs, nobody is stopped; the rest is for the command line",
    ("deletion.py", "PersonalData"): "the command line says it in one sentence, routes answer 503",
    ("encryption_keys.py", ""): "at the start of a process, which ends with a sentence",
    ("key_rotation.py", "KeyRotation"): "the command line says it in one sentence",
    ("epoch.py", ""): "at the start of a process, which ends with a sentence",
    ("expiry.py", ""): "the sweep is restarted",
    ("export.py", "Export"): "the command line says it in one sentence, routes answer 503",
    ("outbox.py", "Outbox"): "Sender: logs, and tries again after the lease",
    ("scheduler.py", "Scheduler"): "Scheduler.run: logs, and looks again; the due time stays",
    ("service.py", "Crons"): "routes only: server/errors.py answers 503",
    ("file_changes.py", "FileChanges"): "routes only: server/errors.py answers 503",
    ("operations.py", "RunOperations"): "routes answer 503, the command line says it",
    ("pool.py", "SharedPool"): "the pool itself: whoever takes a connection is listed or guarded",
    ("tenants.py", "CellTenants"): "the gate and the directory: 503; the command line says it",
    ("move.py", ""): "the command line says it, and gives the tenant back",
    ("checks.py", ""): "as move.py",
    ("channel.py", "PushChannel"): "Sender: logs, and tries again after the lease",
    ("subscriptions.py", "PushSubscriptions"): "routes only: server/errors.py answers 503",
    ("queue.py", "Queue"): "Worker._recover_runs continues, routes answer 503",
    ("service.py", "Runs"): "routes only: server/errors.py answers 503",
    ("shares.py", "Shares"): "routes: server/errors.py answers 503; the sweep is restarted",
    ("titles.py", "TitleWriter"): "TitleWriter._work: logs, and the words of the client stay",
    ("tenant_reads.py", ""): "routes only: server/errors.py answers 503",
    ("journal.py", "CallJournal"): "_try_to_store: logs, and `close` tries again; `retry_storage`",
    ("redis_subscription.py", "RedisSubscription"): "a connection to Redis",
    ("report.py", "UsageReports"): "routes answer 503, the command line says it in one sentence",
    ("threads.py", "Threads"): "routes only: server/errors.py answers 503",
}
EXPECTED = {"CONNECTION_ERRORS", "OperationalError"}


def names(node: ast.AST | None) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


def is_guard(node: ast.AST) -> bool:
    """`with storage_errors():`, or a `try` that expects the connection to be lost."""
    if isinstance(node, ast.With):
        return any("storage_errors" in names(item.context_expr) for item in node.items)
    return isinstance(node, ast.Try) and any(EXPECTED & names(h.type) for h in node.handlers)


def unmapped(path: Path) -> set[tuple[str, str]]:
    """The classes of a file that use a connection outside of a guard."""
    found = set()

    def walk(node: ast.AST, owner: str, *, is_guarded: bool) -> None:
        if isinstance(node, ast.ClassDef):
            owner = node.name
        is_guarded = is_guarded or is_guard(node)
        if isinstance(node, ast.Attribute) and node.attr == "connection" and not is_guarded:
            found.add((path.name, owner))
        for child in ast.iter_child_nodes(node):
            walk(child, owner, is_guarded=is_guarded)

    walk(ast.parse(path.read_text(encoding="utf-8")), "", is_guarded=False)
    return found


def test_every_use_of_a_connection_in_the_engine_is_mapped_when_the_database_is_lost():
    found = {use for path in sorted(ENGINE.rglob("*.py")) for use in unmapped(path)}
    assert found == set(MAPPED_BY_CALLER)


def test_the_rule_sees_a_connection_that_nobody_guards(tmp_path):
    file = tmp_path / "tool.py"
    file.write_text(
        "class Log:\n    async def add(self):\n        async with self._pool.connection():\n"
        "            pass\n"
    )
    assert unmapped(file) == {("tool.py", "Log")}


def test_the_store_a_graph_sees_is_guarded_although_it_takes_no_connection_itself():
    tree = ast.parse((ENGINE / "attempt_services" / "owned_store.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.With) and is_guard(node)]
    assert len(calls) == 2
