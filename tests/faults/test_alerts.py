"""Each alert that ships fires when its cause is planted, and none fires when nothing is wrong.

The tests share their processes and come in an order: at first there is no worker, later some are
killed. Each has a Prometheus of its own, which sees only what happens during the test.
"""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from engine_rig import own_database
from monitored import MONITORING, RULES, Process, Town, compressed, program, prometheus
from own_services import OwnPostgres, OwnRedis, own_postgres, own_redis

from bathysphere.engine.database.pool import Database

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]
PLANTED: set[str] = set()
WEBHOOKS = {
    "BATHYSPHERE_WEBHOOK_SECRET": "0123456789abcdef0123456789abcdef",
    "BATHYSPHERE_WEBHOOK_ALLOW_LOOPBACK": "true",
    "BATHYSPHERE_WEBHOOK_ATTEMPTS": "1",
}


def fires(*alerts: str) -> Callable[[Any], Any]:
    """Note which alerts a test fires."""
    PLANTED.update(alerts)
    return lambda test: test


@pytest.fixture(scope="module")
def postgres() -> Iterator[OwnPostgres]:
    with own_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def database(postgres: OwnPostgres) -> Iterator[Database]:
    with own_database(postgres.url) as database:
        yield database


@pytest.fixture(scope="module")
def redis_server() -> Iterator[OwnRedis]:
    with own_redis() as server:
        yield server


@pytest.fixture(scope="module")
def town(database: Database, redis_server: OwnRedis) -> Iterator[Town]:
    town = Town(database.url, redis_server.url, **WEBHOOKS)
    yield town
    town.close()


@pytest.fixture(scope="module")
def api(town: Town) -> httpx.Client:
    return town.api()


@pytest.fixture(scope="module")
def worker(town: Town, api: httpx.Client) -> Process:
    return town.worker()


def start(client: httpx.Client, graph: str, seconds: float = 0, **more: Any) -> str:
    """Start a run without a thread; return its id."""
    body = {"assistant_id": graph, "input": {"seconds": seconds}, **more}
    answer = client.post("/runs", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["run_id"])


def finish(client: httpx.Client, graph: str, seconds: float = 0) -> None:
    """Run to the end."""
    body = {"assistant_id": graph, "input": {"seconds": seconds}}
    client.post("/runs/wait", json=body)


def alert_names() -> list[str]:
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["alert"] for rule in group["rules"]]


def test_the_rules_are_valid_and_each_has_a_test_that_fires_it():
    command = [program("promtool"), "check", "rules", "--lint-fatal", str(RULES)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert set(alert_names()) == PLANTED


@fires("BathysphereNoWorkers", "BathysphereQueueStuck")
def test_no_worker_at_all(town, tmp_path, database, api):
    start(api, "quick")
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("UPDATE engine.runs SET created_at = created_at - interval '5 minutes'")
        with prometheus(tmp_path, town.processes) as watch:
            watch.wait_for("BathysphereNoWorkers", "BathysphereQueueStuck")
        connection.execute("TRUNCATE engine.threads, procrastinate_jobs CASCADE")


@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_nothing_fires_when_nothing_is_wrong(town, tmp_path, api, worker):
    with prometheus(tmp_path, town.processes) as watch:
        until = time.monotonic() + 15
        while time.monotonic() < until:
            finish(api, "quick")
            time.sleep(0.2)
        assert watch.alerts() == set()
        assert watch.query("sum(bathysphere_runs_ended_total)")


def test_every_query_finds_something(town, tmp_path, api, worker):
    def use() -> None:
        finish(api, "quick")
        api.post("/threads/search", json={})

    use()
    with prometheus(tmp_path, town.processes) as watch, looping(use):
        for query in dashboard_queries() | objectives():
            watch.until(query)


@fires("BathysphereLoopBlocked")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_graph_that_blocks_the_loop(town, tmp_path, api, worker):
    with prometheus(tmp_path, town.processes) as watch:
        start(api, "blocking", 20)
        watch.wait_for("BathysphereLoopBlocked")


@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
@fires("BathysphereRequestsFail")
def test_a_route_with_a_bug(town, tmp_path, api):
    assert api.get("/broken").status_code == 500
    with prometheus(tmp_path, town.processes) as watch, looping(lambda: api.get("/broken")):
        watch.wait_for("BathysphereRequestsFail")


@fires("BathysphereRunsFail")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_graph_with_a_bug(town, tmp_path, api, worker):
    finish(api, "failing")  # Prometheus sees no increase in a series that it has not seen
    with prometheus(tmp_path, town.processes) as watch, looping(lambda: finish(api, "failing")):
        watch.wait_for("BathysphereRunsFail")


@fires("BathysphereWebhooksGivenUp")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_receiver_that_is_gone(town, tmp_path, api, worker):
    def send() -> None:
        start(api, "quick", webhook="http://127.0.0.1:1/hook")

    # Prometheus sees no increase before the second sample: one webhook may be too early.
    with prometheus(tmp_path, town.processes) as watch, looping(send):
        watch.wait_for("BathysphereWebhooksGivenUp")


@fires("BathysphereEventsDropped")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_redis_that_is_gone(town, tmp_path, redis_server, api, worker):
    with prometheus(tmp_path, town.processes) as watch:
        redis_server.kill()
        try:
            with looping(lambda: start(api, "quick")):
                watch.wait_for("BathysphereEventsDropped")
        finally:
            redis_server.start()


@fires("BathyspherePoolExhausted")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_statements_that_wait_for_a_lock(town, tmp_path, database, api):
    with (
        prometheus(tmp_path, town.processes) as watch,
        ThreadPoolExecutor(20) as callers,
        psycopg.connect(database.url) as connection,
    ):
        connection.execute("LOCK TABLE engine.threads")
        for _ in range(20):
            callers.submit(api.post, "/threads/search", json={})
        watch.wait_for("BathyspherePoolExhausted")
        connection.rollback()


@fires("BathysphereSlowStarts")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_too_few_workers(town, tmp_path, api, worker):
    with prometheus(tmp_path, town.processes) as watch:
        for _ in range(40):
            start(api, "slow", 3)
        watch.wait_for("BathysphereSlowStarts")


@fires(
    "BathysphereDown",
    "BathysphereWorkerLost",
    "BathysphereRunsGivenUp",
    "BathysphereRunsWithoutJob",
)
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_run_that_kills_its_workers_and_a_run_without_a_job(
    town, tmp_path, database, api, worker
):
    workers = [worker, town.worker(), town.worker()]
    with prometheus(tmp_path, town.processes) as watch:
        start(api, "poison")
        watch.wait_for("BathysphereDown", "BathysphereWorkerLost", "BathysphereRunsGivenUp")
        assert [one.is_alive for one in workers].count(True) == 1
        start(api, "quick", after_seconds=3600)
        with psycopg.connect(database.url) as connection:
            connection.execute("DELETE FROM procrastinate_jobs")
        watch.wait_for("BathysphereRunsWithoutJob")


@fires("BathysphereDatabaseDown")
@pytest.mark.long("tests/faults/test_alerts.py::test_no_worker_at_all")
def test_a_database_that_is_gone(town, tmp_path, postgres, api):
    # Without a database, metrics take two seconds.
    with prometheus(tmp_path, town.processes, every="4s") as watch:
        postgres.stop("immediate")
        try:
            watch.wait_for("BathysphereDatabaseDown")
        finally:
            postgres.start()


def dashboard_queries() -> set[str]:
    """The queries of the dashboard, with its variables filled in."""
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return {_filled(target["expr"]) for panel in panels for target in panel.get("targets", ())}


def _filled(expression: str) -> str:
    return expression.replace("$__rate_interval", "5s").replace("$job", "bathysphere.*")


def objectives() -> set[str]:
    """The queries of the objectives in the documentation."""
    text = (MONITORING.parents[1] / "docs" / "monitoring.md").read_text()
    found = re.findall(r"```promql\n(.*?)```", text, re.DOTALL)
    assert len(found) == 5
    return {compressed(query.replace("[30d", "[1h")) for query in found}


class looping:  # noqa: N801  # used like a function
    """Repeat a call in a thread."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._repeat)

    def _repeat(self) -> None:
        while not self._is_over.wait(0.2):
            with suppress(httpx.TransportError):  # a server may close the connection after an error
                self._call()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(30)
