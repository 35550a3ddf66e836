"""Fixtures: a server behind PgBouncer for the client conformance suite, and its clients."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_rig import REDIS, own_database
from own_services import own_bouncer

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from sdk_clients import bob, client  # noqa: F401

POSTGRES = 5432


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    if shutil.which("pgbouncer", path=path) is None:
        pytest.fail("pgbouncer is missing: run scripts/services.sh (Debian's package pgbouncer)")
    script = Path(__file__).with_name("serving_bounced.py")
    with own_database() as database, own_bouncer(POSTGRES) as port:
        bounced = database.url.replace(f":{POSTGRES}/", f":{port}/")
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script), bounced, REDIS, database.url],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://"), "the server did not start"
            yield address
        finally:
            process.terminate()
            process.wait(20)
            process.stdout.close()
