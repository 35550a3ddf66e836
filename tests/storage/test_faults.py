"""A store that fails, answers late or not at all: no false failure, no double write."""

import dataclasses
import itertools
import random
import threading

import obstore
import pytest

from bathysphere.backends.object_store import ObjectStoreBackend, open_bucket
from bathysphere.tenancy.root import Root

pytestmark = pytest.mark.timeout(120)
ROOT = Root(tenant="company-1", workspace="ws")


def text(backend, path):
    return backend.read(path).file_data["content"]


def test_a_write_that_landed_is_not_reported_as_failed(gcs_server, gcs):
    gcs_server.fail(-503, method="PUT")
    assert gcs.write("/a", "one").error is None
    assert gcs_server.stats()["requests"]["PUT"] == 1  # and was not written twice


def test_a_create_that_landed_is_not_reported_as_there_already(gcs_server):
    backend = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT, write_mode="create")
    gcs_server.fail(-503, method="PUT")
    assert backend.write("/a", "one").error is None
    assert "already exists" in backend.write("/a", "two").error
    assert gcs_server.stats()["requests"]["PUT"] == 2


@pytest.mark.parametrize("codes", [(-503,), (503,), (429, 429), (503, -503), (-500, 503)])
def test_an_edit_happens_once_whatever_the_store_answers(gcs_server, gcs, codes):
    gcs.write("/a", "x")
    gcs_server.fail(*codes, method="PUT")
    edited = gcs.edit("/a", "x", "xx")
    assert (edited.error, edited.occurrences) == (None, 1)
    assert text(gcs, "/a") == "xx"


def test_an_edit_that_landed_and_was_built_on_is_not_done_again(gcs_server, gcs):
    """Its answer is lost, and before it can look somebody else has edited the file again."""
    gcs.write("/a", "x")
    other = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT)
    landed, looked = threading.Event(), threading.Event()
    inner = gcs._objects._landed

    def look_late(key, own):
        landed.set()
        looked.wait(10)
        return inner(key, own)

    gcs._objects._landed = look_late
    gcs_server.fail(-503, method="PUT")
    results = []
    editing = threading.Thread(target=lambda: results.append(gcs.edit("/a", "x", "xx")))
    editing.start()
    assert landed.wait(10)
    assert other.edit("/a", "xx", "xxyz").error is None
    looked.set()
    editing.join(10)
    assert results[0].error is None
    assert text(gcs, "/a") == "xxyz"


def test_a_timeout_after_the_commit_is_a_success(gcs_server):
    config = dataclasses.replace(gcs_server.config, timeout_seconds=1)
    backend = ObjectStoreBackend(open_bucket(config), ROOT)
    gcs_server.fail("-hang", method="PUT")
    assert backend.write("/a", "one").error is None
    gcs_server.fail("hang", method="PUT")
    assert backend.write("/a", "two").error is None
    assert text(backend, "/a") == "two"


def test_a_store_that_never_answers_is_said_to_be_unknown(gcs_server):
    config = dataclasses.replace(gcs_server.config, tries=2)
    backend = ObjectStoreBackend(open_bucket(config), ROOT)
    put = backend._objects.put

    def fail_from_here(*args, **kwargs):
        gcs_server.fail(*[-503] * 2, method="PUT")
        gcs_server.fail(*[503] * 8, method="HEAD")
        gcs_server.fail(*[503] * 8, method="GET")
        return put(*args, **kwargs)

    backend._objects.put = fail_from_here
    result = backend.write("/a", "one")
    assert "did not confirm the write" in result.error
    gcs_server.reset()
    assert backend.read("/a").error  # reset took it away; the backend goes on


def test_throttling_is_waited_out(gcs_server, gcs):
    gcs_server.fail(429, 429, 429, method="PUT")
    assert gcs.write("/a", "one").error is None
    gcs_server.fail(429, 503, 429, method="GET")
    assert text(gcs, "/a") == "one"


def test_a_cut_page_is_asked_for_again(gcs_server, gcs):
    store = gcs_server.store()
    for n in range(1200):
        obstore.put(store, f"{ROOT.prefix}/d/{n:04}", b"needle", use_multipart=False)
    gcs_server.fail("cut", 503, "cut", method="GET")
    assert len(gcs.glob("*").matches) == 1200
    gcs_server.fail("cut", method="GET")
    assert len(gcs.ls("/d").entries) == 1200


def test_a_delete_that_landed_is_not_reported_as_failed(gcs_server, gcs):
    gcs.write("/a", "x")
    gcs_server.fail(-503, method="DELETE")
    assert gcs.delete("/a").error is None
    assert gcs.delete("/a").error


def test_an_outage_is_a_result_for_every_operation(gcs_server):
    config = dataclasses.replace(gcs_server.config, tries=1)
    backend = ObjectStoreBackend(open_bucket(config), ROOT)

    def outage():
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            gcs_server.fail(*[503] * 4, method=method)

    calls = [
        lambda: backend.ls("/"),
        lambda: backend.read("/a"),
        lambda: backend.write("/a", "x"),
        lambda: backend.edit("/a", "x", "y"),
        lambda: backend.delete("/a"),
        lambda: backend.glob("*"),
        lambda: backend.grep("x"),
        lambda: backend.upload_files([("/a", b"x")])[0],
        lambda: backend.download_files(["/a"])[0],
    ]
    for call in calls:
        gcs_server.reset()
        outage()
        error = call().error
        assert error
        assert "http" not in error
        assert "company-1" not in error


def test_many_seeded_faults_lose_and_double_nothing(gcs_server):
    """Writers at once under random faults: each edit is in the file exactly once."""
    dice = random.Random(8)
    backends = [ObjectStoreBackend(open_bucket(gcs_server.config), ROOT) for _ in range(6)]
    backends[0].write("/log", "start\n")
    numbers, failed = itertools.count(), []
    kinds = [-503, 503, 429, -500, -502]

    def work(backend):
        for _ in range(6):
            mine = f"[{next(numbers)}]"
            result = backend.edit("/log", "start\n", f"start\n{mine}\n")
            if result.error:
                failed.append((mine, result.error))

    stop = threading.Event()

    def trouble():
        while not stop.wait(0.02):
            gcs_server.fail(dice.choice(kinds), method=dice.choice(["PUT", "GET", "PUT"]))

    troubling = threading.Thread(target=trouble)
    threads = [threading.Thread(target=work, args=(b,)) for b in backends]
    troubling.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    stop.set()
    troubling.join()
    lines = text(backends[0], "/log").splitlines()[1:]
    assert failed == []
    assert len(lines) == len(set(lines)) == 36
