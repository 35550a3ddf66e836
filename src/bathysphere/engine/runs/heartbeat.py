"""The worker's heartbeat, with its own thread and connection.

A tool that blocks the event loop does not stop it, so a busy worker is not mistaken for a dead one.
If the loop stays blocked for `stuck_after` seconds, the heartbeat stops and others take over.
"""

import logging
import threading
from collections.abc import Callable

import psycopg

from bathysphere.core.clock import Clock
from bathysphere.engine.runs.announcements import TELL_ALL

_RESPONDS_SECONDS = 2.5
"""A worker whose event loop has been silent for longer offers no slots."""
_log = logging.getLogger(__name__)


class Heartbeat:
    """Records from a thread, every `interval` seconds, that this worker is alive."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        worker_id: Callable[[], int | None],
        slots: Callable[[], int],
        interval: float,
        stuck_after: float,
    ) -> None:
        self._url = url
        self._clock = clock
        self._worker_id = worker_id
        self._slots = slots
        self._interval = interval
        self._stuck_after = stuck_after
        self._stopping = threading.Event()
        self._loop_seen = clock.monotonic()
        self._thread = threading.Thread(target=self._run, name="engine-heartbeat", daemon=True)

    def start(self) -> None:
        """Start the heartbeat thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat thread and close its connection."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def record_loop_alive(self) -> None:
        """Record that the event loop is running; called from it periodically."""
        self._loop_seen = self._clock.monotonic()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(
                    self._url,
                    autocommit=True,
                    prepare_threshold=None,
                    connect_timeout=3,
                    tcp_user_timeout=3000,
                ) as connection:
                    self._beat(connection)
            except psycopg.Error as error:
                _log.warning("Heartbeat cannot reach PostgreSQL: %s", error)
                self._stopping.wait(self._interval / 2)

    def _beat(self, connection: psycopg.Connection) -> None:
        offered: dict[str, int] = {}
        while not self._stopping.wait(self._interval):
            worker_id = self._worker_id()
            if worker_id is None:
                continue
            silent = self._clock.monotonic() - self._loop_seen
            if silent > self._stuck_after:
                _log.error(
                    "The event loop has been blocked too long: letting other workers take over"
                )
                continue
            connection.execute("SELECT procrastinate_update_heartbeat_v1(%s)", (worker_id,))
            slots = self._slots() if silent < _RESPONDS_SECONDS else 0
            offer = {"worker": worker_id, "slots": slots}
            if offer != offered:
                connection.execute(_OFFER, offer)
                if slots == 0:  # until now, runs may have been announced to this worker alone
                    connection.execute(TELL_ALL)
                offered = offer


# A worker that was taken for dead has no row that its slots could refer to.
_OFFER = """
INSERT INTO engine.worker_slots (worker_id, slots)
SELECT worker.id, %(slots)s FROM procrastinate_workers worker WHERE worker.id = %(worker)s
ON CONFLICT (worker_id) DO UPDATE SET slots = excluded.slots
"""
