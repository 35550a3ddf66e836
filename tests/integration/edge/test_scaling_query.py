"""The queue's length as the autoscaler asks for it, and the metrics, from a real database."""

import asyncio
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from psycopg.types.json import Jsonb
from redis.asyncio import Redis

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database, open_pool
from bathysphere.engine.tenant_shares import acting_owner
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.measured import MeasuredQueue
from bathysphere.server.observability.metrics import Metrics

pytestmark = pytest.mark.services
ME = Owner(tenant="t", user="u")
SCALING = Path(__file__).parents[3] / "deploy/kubernetes/base/worker-scaling.yaml"


@pytest.fixture
async def three_runs(pool):
    thread = uuid4()
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE engine.threads CASCADE")
        await connection.execute(
            "INSERT INTO engine.threads (thread_id, tenant, owner) VALUES (%s, 't', 'u')", (thread,)
        )
        for status in ("pending", "pending", "running", "success"):
            await connection.execute(
                "INSERT INTO engine.runs (run_id, thread_id, tenant, owner, graph, work, tag,"
                " status, created_at)"
                " VALUES (%s, %s, 't', 'u', 'g', '{}', 0, %s, now() - interval '1 minute')",
                (uuid4(), thread, status),
            )
    yield
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE engine.threads CASCADE")


async def test_the_autoscaler_counts_the_runs_that_are_not_over(pool, three_runs):
    scaling = next(yaml.safe_load_all(SCALING.read_text()))
    [trigger] = scaling["spec"]["triggers"]
    async with pool.connection() as connection:
        row = await (await connection.execute(trigger["metadata"]["query"])).fetchone()
    assert list(row.values()) == [3]


async def test_the_metrics_show_the_queue(pool, three_runs):
    metrics = Metrics()
    await metrics.update_queue(pool)
    text = metrics.render().decode()
    assert 'bathysphere_runs{status="pending"} 2.0' in text
    assert 'bathysphere_runs{status="running"} 1.0' in text
    waited = metrics.registry.get_sample_value("bathysphere_queue_oldest_seconds")
    assert 59 < waited < 120


async def test_a_run_behind_another_or_not_yet_due_does_not_wait_for_a_worker(pool, three_runs):
    metrics = Metrics()
    async with pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.runs SET status = 'running' WHERE seq ="
            " (SELECT min(seq) FROM engine.runs)"
        )
    await metrics.update_queue(pool)
    assert metrics.registry.get_sample_value("bathysphere_queue_oldest_seconds") == 0
    async with pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.runs SET status = 'success' WHERE status = 'running'"
        )
    await metrics.update_queue(pool)
    assert metrics.registry.get_sample_value("bathysphere_queue_oldest_seconds") > 59
    async with pool.connection() as connection:
        await connection.execute(
            "WITH job AS (INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at)"
            " VALUES ('runs', 'run', now() + interval '1 day') RETURNING id)"
            " UPDATE engine.runs SET job_id = job.id FROM job WHERE status = 'pending'"
        )
    await metrics.update_queue(pool)
    assert metrics.registry.get_sample_value("bathysphere_queue_oldest_seconds") == 0
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE procrastinate_jobs CASCADE")


async def test_waits_for_connections_are_measured(edge_database):
    metrics = Metrics()
    async with open_pool(replace(edge_database, max_size=1)) as pool:
        metrics.watch_pool(pool)
        async with pool.connection():
            waiting = asyncio.create_task(_use(pool))
            await asyncio.sleep(0.2)
            assert metrics.registry.get_sample_value("bathysphere_pool_waiting") == 1
        await waiting
        acting_owner.set(ME)
        await asyncio.gather(*(_use(pool, 0.1) for _ in range(3)))
        value = metrics.registry.get_sample_value
        assert value("bathysphere_pool_waits_total") >= 1
        assert value("bathysphere_pool_wait_seconds_total") > 0.15
        assert 0.25 < value("bathysphere_pool_share_wait_seconds_total") < 1
        assert value("bathysphere_pool_connections_max") == 1


async def _use(pool, seconds: float = 0) -> None:
    async with pool.connection():
        await asyncio.sleep(seconds)


async def test_a_healthy_process_is_ready_until_it_leaves(pool):
    health = Health(pool)
    assert set((await health.check()).values()) == {"ok"}
    health.begin_shutdown()
    assert (await health.check())["process"] == "shutting down"


async def test_a_database_that_lacks_a_migration_is_not_ready(pool):
    async with pool.connection() as connection:
        await connection.execute("UPDATE engine.migrations SET name = 'x' WHERE name LIKE '0001%'")
    try:
        assert (await Health(pool).check())["migrations"] == "missing"
    finally:
        async with pool.connection() as connection:
            await connection.execute(
                "UPDATE engine.migrations SET name = '0001_threads_and_runs.sql' WHERE name = 'x'"
            )


async def test_services_that_are_away_are_named_and_nothing_hangs(edge_database: Database):
    async with open_pool(edge_database) as pool, Redis.from_url("redis://127.0.0.1:1/0") as redis:
        assert (await Health(pool, redis).check())["redis"] == "unavailable"
    metrics = Metrics()
    await metrics.update_queue(pool)  # closed by now
    assert "NaN" in metrics.render().decode()
    assert (await Health(pool).check())["database"] == "unavailable"


async def test_a_run_taken_back_from_a_dead_worker_is_counted(pool, edge_database: Database):
    metrics = Metrics()
    queue = MeasuredQueue(pool, database=edge_database, metrics=metrics)
    run = uuid4()
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE procrastinate_jobs CASCADE")
        await connection.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, args)"
            " VALUES ('runs', 'run', 'a', 'doing', %s)",
            (Jsonb({"run_id": str(run)}),),
        )
    assert await queue.requeue_stalled(5) == [run]
    assert metrics.registry.get_sample_value("bathysphere_takeovers_total") == 1
    assert await queue.requeue_stalled(5) == []
    assert metrics.registry.get_sample_value("bathysphere_takeovers_total") == 1
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE procrastinate_jobs CASCADE")


async def test_adopted_and_taken_back_runs_are_counted(edge_database, three_runs):
    metrics = Metrics()
    async with open_pool(edge_database) as pool:
        queue = MeasuredQueue(pool, database=edge_database, metrics=metrics)
        await queue.open()
        async with pool.connection() as connection:
            await connection.execute("DELETE FROM procrastinate_jobs")
        adopted = await queue.requeue_orphans()
        jobs = queue.app.job_manager
        worker_id = await jobs.register_worker()
        await jobs.fetch_job(["runs"], worker_id)
        await queue.requeue_missing(worker_id, await queue.find_missing(worker_id, []))
    value = metrics.registry.get_sample_value
    assert value("bathysphere_adoptions_total") == len(adopted) > 0
    assert value("bathysphere_taken_back_total") == 1
