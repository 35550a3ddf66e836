"""Conditional writes: a change is applied to the expected version or not at all."""

import pytest
from deepagents.backends import StateBackend

from bathysphere.backends.conditional import ABSENT, ConditionalBackend, Expectation
from bathysphere.backends.object_store import BucketConfig, ObjectStoreBackend, open_bucket
from bathysphere.core.errors import ConfigError
from bathysphere.middleware.file_approvals.middleware import FileApprovalsMiddleware
from bathysphere.tenancy.root import Root

ROOT = Root(tenant="tenant", workspace="workspace")


@pytest.fixture
def files() -> ObjectStoreBackend:
    return ObjectStoreBackend(open_bucket(BucketConfig(kind="memory")), ROOT)


def test_every_change_through_a_conditional_backend_carries_its_expectation(files) -> None:
    files.write("/a", "old")
    token, _ = files.seen("/a")
    files.write("/a", "new")
    for change in (
        lambda backend: backend.write("/a", "mine"),
        lambda backend: backend.edit("/a", "new", "mine"),
        lambda backend: backend.delete("/a"),
    ):
        stale = Expectation(token)
        assert "changed since" in change(ConditionalBackend(files, stale)).error
        assert stale.was_refused
    assert files.seen("/a")[1] == b"new"


def test_a_conditional_backend_applies_a_change_to_the_expected_version(files) -> None:
    created = Expectation(ABSENT)
    assert ConditionalBackend(files, created).write("/a", "one").error is None
    current = Expectation(files.seen("/a")[0])
    assert ConditionalBackend(files, current).edit("/a", "one", "two").error is None
    assert files.seen("/a")[1] == b"two"
    assert not created.was_refused
    assert not current.was_refused


def test_approvals_refuse_a_backend_without_versions() -> None:
    with pytest.raises(ConfigError, match="StateBackend"):
        FileApprovalsMiddleware(StateBackend())
