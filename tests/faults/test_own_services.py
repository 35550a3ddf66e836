"""The campaigns' private PostgreSQL is restarted if it does not come back, or reported as lost."""

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


def test_a_lost_rig_is_neither_good_nor_a_loss_of_the_engine():
    tally = Tally(rig_lost="pg_ctl failed", unjudged=3)
    assert not tally.is_good
    assert tally.lost == 0
    assert '"rig_lost": "pg_ctl failed"' in tally.line()
