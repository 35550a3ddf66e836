"""Pytest fixtures: a scripted model server and a small real model.

Load them with `pytest_plugins = ["bathysphere.testing.fixtures"]` in the top `conftest.py`. Both
start on first use, once for the whole run, and are stopped at its end.
"""

from collections.abc import Iterator

import pytest

from bathysphere.testing.model_server import ModelServer
from bathysphere.testing.small_model import SmallModel


@pytest.fixture(scope="session")
def running_model_server() -> Iterator[ModelServer]:
    """The server that all tests of a run share; tests ask for `model_server`."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def model_server(running_model_server: ModelServer) -> ModelServer:
    """A model server without a script: give it one with `play([...])`."""
    running_model_server.play([])
    return running_model_server


@pytest.fixture(scope="session")
def small_model() -> Iterator[SmallModel]:
    """The small real model, running; its weights are fetched when they are missing."""
    with SmallModel() as model:
        yield model
