"""Runs of a schedule are received, signed; what is not signed is refused."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
SECRET = "s" * 32
pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
def url(serve):
    variables = {
        "BATHYSPHERE_WEBHOOK_ALLOW_LOOPBACK": "true",
        "BATHYSPHERE_WEBHOOK_SECRET": SECRET,
        "BATHYSPHERE_CRON_MIN_SECONDS": "1",
    }
    return serve(HERE, **variables).url


@pytest.fixture
def receiver():
    secret = subprocess.run(
        [BIN / "bathysphere", "webhooks", "secret", "--tenant", "local"],
        env={"BATHYSPHERE_WEBHOOK_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with subprocess.Popen(
        [sys.executable, "receiver.py", "0", secret], cwd=HERE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.terminate()


def test_every_run_is_received_and_a_forged_one_is_refused(url, receiver):
    place = receiver.stdout.readline().split()[-1]
    assert httpx.post(place, content=b"{}").status_code == 401
    command = [sys.executable, "schedule.py", url, place, "* * * * * *"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Scheduled: ")
    for _ in range(2):
        assert "| What changed since yesterday?" in receiver.stdout.readline()
