"""Metrics of a connection pool, from the counts that it keeps anyway."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from bathysphere.engine.database.pool import Pool, SharedPool

_COUNTERS = (
    ("requests", "requests_num", 1, "Requests for a database connection."),
    ("waits", "requests_queued", 1, "Requests that waited for a database connection."),
    ("wait_seconds", "requests_wait_ms", 1000, "Time spent waiting for a database connection."),
    ("errors", "requests_errors", 1, "Requests that got no database connection."),
)


class PoolCollector(Collector):
    """Reads the pool's counts at each scrape."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def collect(self) -> Iterator[Metric]:
        stats = self._pool.get_stats()
        for name, key, per_unit, text in _COUNTERS:
            yield _counter(name, text, stats.get(key, 0) / per_unit)
        if isinstance(self._pool, SharedPool):
            text = "Time that requests waited for their tenant's share of the connections."
            yield _counter("share_wait_seconds", text, self._pool.share_wait_seconds)
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        connections = GaugeMetricFamily(
            "bathysphere_pool_connections", "Open database connections.", labels=["state"]
        )
        connections.add_metric(["idle"], idle)
        connections.add_metric(["used"], size - idle)
        yield connections
        for name, key, text in (
            ("connections_max", "pool_max", "Most connections that the pool may open."),
            ("waiting", "requests_waiting", "Requests now waiting for a database connection."),
        ):
            yield GaugeMetricFamily(f"bathysphere_pool_{name}", text, value=stats.get(key, 0))


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"bathysphere_pool_{name}", text, value=value)
