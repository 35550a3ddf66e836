"""The HTTP interface: kept in a file, every operation named, every error mapped."""

import importlib
import pkgutil

import bathysphere
from bathysphere.core.errors import BathysphereError
from bathysphere.server import openapi
from bathysphere.server.app import describe_app
from bathysphere.server.errors import STATUSES, status_of


def test_the_interface_in_the_repository_is_the_one_that_is_served() -> None:
    assert openapi.PATH.read_text(encoding="utf-8") == openapi.render(), (
        "run `python -m bathysphere.server.openapi`"
    )


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [
        operation["operationId"]
        for path in describe_app().openapi()["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(set(names))


def test_no_error_of_ours_is_an_internal_one_by_accident() -> None:
    class NotThere(BathysphereError):
        code = "thread_not_found"

    assert status_of(NotThere("x")) == 404
    assert all(400 <= status < 600 for status in STATUSES.values())


def test_every_status_belongs_to_an_error_that_exists() -> None:
    for module in pkgutil.walk_packages(bathysphere.__path__, "bathysphere."):
        if module.name.startswith(("bathysphere.server", "bathysphere.engine", "bathysphere.core")):
            importlib.import_module(module.name)
    known: set[str] = set()
    waiting = [BathysphereError]
    while waiting:
        kind = waiting.pop()
        known.add(kind.code)
        waiting += kind.__subclasses__()
    assert STATUSES.keys() <= known
