"""The campaigns' private PostgreSQL is restarted if it does not come back, or reported as lost."""

import socket
import threading
import time
from contextlib import ExitStack, suppress

import psycopg
import pytest
from own_services import OwnPostgres, RigLost, own_postgres
from tally import Tally

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
def server():
    with own_postgres() as found:
        found.pauses = (0.1, 0.1)
        yield found


def test_a_restart_that_fails_once_is_made_up_for(server: OwnPostgres, monkeypatch):
    control, failed = OwnPostgres._control, []

    def stops_and_fails(self: OwnPostgres, *what: str) -> None:
        if what[0] == "restart" and not failed:
            failed.append(what)
            control(self, "stop", "-m", "immediate")
            raise RigLost("pg_ctl took too long")
        control(self, *what)

    monkeypatch.setattr(OwnPostgres, "_control", stops_and_fails)
    server.restart("fast")
    assert failed
    with psycopg.connect(f"{server.url}/postgres") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_never_comes_back_is_a_lost_rig_with_its_log(server: OwnPostgres):
    with (server._data / "postgresql.conf").open("a") as config:
        config.write("shared_buffers = nonsense\n")
    with pytest.raises(RigLost, match="nonsense"):
        server.restart("fast")


def test_connections_that_say_nothing_do_not_hold_up_a_restart(server: OwnPostgres, within):
    """As through a stalled link: PostgreSQL 15 waits for them before it stops, by default 60 s."""
    restarted = threading.Event()
    with ExitStack() as stack:

        def connect() -> None:
            while not restarted.wait(0.002):
                with suppress(OSError):
                    stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 1))

        thread = threading.Thread(target=connect)
        thread.start()
        began = time.monotonic()
        try:
            server.restart("fast")
            took = time.monotonic() - began
        finally:
            restarted.set()
            thread.join()
    within(took, 20)


def test_a_lost_rig_is_neither_good_nor_a_loss_of_the_engine():
    tally = Tally(rig_lost="pg_ctl failed", unjudged=3)
    assert not tally.is_good
    assert tally.lost == 0
    assert '"rig_lost": "pg_ctl failed"' in tally.line()
