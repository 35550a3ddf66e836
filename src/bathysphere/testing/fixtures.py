"""Pytest fixtures: a scripted model server, a small real model, real mints, object storage.

Load them with `pytest_plugins = ["bathysphere.testing.fixtures"]` in the top `conftest.py`. Each
starts on first use, once for the whole run, and is stopped at its end.
"""

from collections.abc import Iterator

import pytest

from bathysphere.testing.azurite import AzuriteServer
from bathysphere.testing.gcs import GcsServer
from bathysphere.testing.mint import LocalMint
from bathysphere.testing.model_server import ModelServer
from bathysphere.testing.seaweedfs import SeaweedServer
from bathysphere.testing.small_model import SmallModel


@pytest.fixture(scope="session")
def running_model_server() -> Iterator[ModelServer]:
    """The shared model server; tests use `model_server`."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def model_server(running_model_server: ModelServer) -> ModelServer:
    """A model server without a script; set one with `play([...])`."""
    running_model_server.play([])
    return running_model_server


@pytest.fixture(scope="session")
def small_model() -> Iterator[SmallModel]:
    """The small real model, running; its weights are downloaded if missing."""
    with SmallModel() as model:
        yield model


@pytest.fixture(scope="session")
def fee_mint() -> Iterator[LocalMint]:
    """A mint with a fee of 100 ppk, for sat and usd. Shared: do not stop or rotate it."""
    with LocalMint(seed="a mint with fees", fee_ppk=100, usd=True) as mint:
        yield mint


@pytest.fixture(scope="session")
def free_mint() -> Iterator[LocalMint]:
    """A mint without fees. Shared: do not stop or rotate it."""
    with LocalMint(seed="a mint without fees") as mint:
        yield mint


@pytest.fixture(scope="session")
def evil_mint() -> Iterator[LocalMint]:
    """An untrusted mint, whose tokens are not accepted. Shared."""
    with LocalMint(seed="a mint of somebody else", fee_ppk=100) as mint:
        yield mint


@pytest.fixture(scope="session")
def running_broken_mint() -> Iterator[LocalMint]:
    """The mint that tests may break; they use `broken_mint`."""
    with LocalMint(seed="a mint to be broken", fee_ppk=100) as mint:
        yield mint


@pytest.fixture
def broken_mint(running_broken_mint: LocalMint) -> LocalMint:
    """A mint that may be killed, frozen and rotated; it is restarted for the next test."""
    if running_broken_mint.pid is None:
        running_broken_mint.start()
    return running_broken_mint


@pytest.fixture(scope="session")
def running_gcs_server() -> Iterator[GcsServer]:
    """The shared test double; tests use `gcs_server`."""
    with GcsServer() as server:
        yield server


@pytest.fixture
def gcs_server(running_gcs_server: GcsServer) -> GcsServer:
    """A test double of Google Cloud Storage with an empty bucket, no faults and no latency."""
    running_gcs_server.reset()
    running_gcs_server.delay(0)
    return running_gcs_server


@pytest.fixture(scope="session")
def seaweed_server() -> Iterator[SeaweedServer]:
    """A real S3 server; tests share its bucket, so each uses its own prefix."""
    with SeaweedServer() as server:
        yield server


@pytest.fixture(scope="session")
def azurite_server() -> Iterator[AzuriteServer]:
    """The Azure Blob Storage emulator; tests share its container."""
    with AzuriteServer() as server:
        yield server
