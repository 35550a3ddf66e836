"""The GCS double behaves, for obstore (XML) and for Google's own client (JSON) alike."""

import threading
import warnings

import httpx
import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, BaseError, InvalidPathError, PreconditionError

pytestmark = [
    pytest.mark.timeout(120),
    # Google's client warns about itself on old Pythons.
    pytest.mark.filterwarnings("ignore::FutureWarning:google.*"),
]


@pytest.fixture
def store(gcs_server):
    return gcs_server.store(retries=0)


@pytest.fixture
def client(gcs_server):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

    client = storage.Client(
        project="test",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": gcs_server.url},
    )
    yield client
    client.close()


def put(store, key, data, **more):
    return obstore.put(store, key, data, use_multipart=False, **more)


def test_create_only_and_compare_and_swap(store):
    first = put(store, "k", b"1", mode="create")
    with pytest.raises(AlreadyExistsError):
        put(store, "k", b"2", mode="create")
    second = put(store, "k", b"2", mode=first)
    assert int(second["version"]) > int(first["version"])
    with pytest.raises(PreconditionError):
        put(store, "k", b"3", mode=first)
    with pytest.raises(BaseError):
        put(store, "missing", b"3", mode=first)
    assert bytes(obstore.get(store, "k").bytes()) == b"2"


def test_one_of_many_creates_wins_and_no_increment_is_lost(store):
    winners, start = [], threading.Barrier(16)

    def create(n):
        start.wait()
        try:
            put(store, "race", b"0", mode="create")
            winners.append(n)
        except AlreadyExistsError:
            pass
        while True:
            got = obstore.get(store, "race")
            raised = str(int(bytes(got.bytes())) + 1).encode()
            version = {k: got.meta[k] for k in ("e_tag", "version")}
            try:
                put(store, "race", raised, mode=version)
                return
            except PreconditionError:
                continue

    threads = [threading.Thread(target=create, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(winners) == 1
    assert bytes(obstore.get(store, "race").bytes()) == b"16"


def test_conditional_and_partial_reads(store):
    made = put(store, "k", b"0123456789", attributes={"note": "x"})
    assert bytes(obstore.get_range(store, "k", start=2, end=5)) == b"234"
    assert bytes(obstore.get(store, "k", options={"range": {"suffix": 3}}).bytes()) == b"789"
    assert obstore.get(store, "k").attributes["note"] == "x"
    with pytest.raises(BaseError):
        obstore.get(store, "k", options={"range": (50, 60)}).bytes()
    with pytest.raises(PreconditionError):
        obstore.get(store, "k", options={"if_match": '"other"'})
    with pytest.raises(BaseError):
        obstore.get(store, "k", options={"if_none_match": made["e_tag"]})
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "missing")


def test_listing_pages_folders_and_offsets(store):
    for n in range(2300):
        put(store, f"many/{n:05}", b"")
    put(store, "many/sub/x", b"")
    put(store, "many12/x", b"")
    assert len(obstore.list(store, "many").collect()) == 2301
    assert len(obstore.list(store, "many", offset="many/01999").collect()) == 301
    folder = obstore.list_with_delimiter(store, "many")
    assert (len(folder["objects"]), folder["common_prefixes"]) == (2300, ["many/sub"])


def test_copy_rename_delete_and_uploads_in_parts(store):
    put(store, "a", b"1")
    obstore.copy(store, "a", "b")
    obstore.rename(store, "b", "c")
    obstore.delete(store, ["a", "c"])
    assert obstore.list(store).collect() == []
    with pytest.raises(FileNotFoundError):
        obstore.delete(store, "a")
    obstore.put(store, "big", b"x" * 11_000_000)
    assert obstore.head(store, "big")["size"] == 11_000_000


def test_both_clients_see_one_bucket(store, client):
    from google.api_core.exceptions import NotFound, PreconditionFailed

    bucket = client.bucket("tbk")
    blob = bucket.blob("notes/x y é.txt")
    blob.upload_from_string("héllo")
    assert bytes(obstore.get(store, "notes/x y é.txt").bytes()) == "héllo".encode()
    with pytest.raises(PreconditionFailed):
        bucket.blob(blob.name).upload_from_string("other", if_generation_match=0)
    made = put(store, "notes/b", b"from obstore")
    assert str(bucket.get_blob("notes/b").generation) == made["version"]
    assert bucket.blob("notes/b").download_as_bytes() == b"from obstore"
    names = [b.name for b in client.list_blobs("tbk", prefix="notes/", page_size=1)]
    assert names == ["notes/b", "notes/x y é.txt"]
    with pytest.raises(PreconditionFailed):
        bucket.blob("notes/b").delete(if_generation_match=1)
    bucket.blob("notes/b").delete(if_generation_match=int(made["version"]))
    with pytest.raises(NotFound):
        bucket.blob("notes/b").download_as_bytes()


def test_google_resumable_upload(client):
    blob = client.bucket("tbk").blob("big", chunk_size=256 * 1024)
    data = bytes(range(256)) * 4000
    blob.upload_from_string(data)
    assert blob.download_as_bytes() == data


def test_faults_are_met_in_order_and_a_negative_one_commits(gcs_server, store):
    gcs_server.fail(503, -503, method="PUT")
    for _ in range(2):
        with pytest.raises(BaseError):
            put(store, "k", b"1", mode="create")
    with pytest.raises(AlreadyExistsError):
        put(store, "k", b"1", mode="create")
    assert gcs_server.stats() == {"requests": {"PUT": 3}, "objects": 1, "faults": 0}


def test_a_cut_page_is_an_error_and_not_an_empty_listing(gcs_server, store):
    put(store, "k", b"1")
    gcs_server.fail("cut", method="GET")
    with pytest.raises(BaseError):
        obstore.list(store).collect()
    assert len(obstore.list(store).collect()) == 1


def test_a_foreign_key_poisons_an_obstore_listing(gcs_server, store):
    """Why the backend has a listing of its own to fall back on."""
    put(store, "fine", b"1")
    place = f"{gcs_server.url}/upload/storage/v1/b/tbk/o"
    made = httpx.post(place, params={"uploadType": "media", "name": "a//b"}, content=b"x")
    assert made.status_code == 200
    with pytest.raises(InvalidPathError):
        obstore.list(store).collect()


@pytest.mark.parametrize("key", ["..", "a\nb", "x" * 1025, ".well-known/acme-challenge/x"])
def test_a_name_google_refuses_is_refused(gcs_server, key):
    place = f"{gcs_server.url}/upload/storage/v1/b/tbk/o"
    answer = httpx.post(place, params={"uploadType": "media", "name": key}, content=b"x")
    assert answer.status_code == 400
    assert answer.json()["error"]["errors"] == [{"reason": "invalid"}]


def test_a_server_ends_with_the_process_that_started_it():
    import os
    import subprocess
    import sys
    import time

    code = (
        "import sys, os; from bathysphere.testing import GcsServer\n"
        "server = GcsServer().start(); print(server.pid, flush=True); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the double outlived its test run")
