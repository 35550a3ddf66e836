"""The object store backend: walls, strange keys, windows, search, quotas, versions."""

import random
import threading

import attacks
import httpx
import obstore
import psutil
import pytest

from bathysphere.backends.conditional import ABSENT, Expectation
from bathysphere.backends.object_store import (
    BucketConfig,
    ObjectStoreBackend,
    SearchLimits,
    open_bucket,
)
from bathysphere.tenancy.errors import NoTenant
from bathysphere.tenancy.quota import Quota
from bathysphere.tenancy.root import Root
from bathysphere.testing.seaweedfs import SeaweedServer

pytestmark = pytest.mark.timeout(120)
ROOT = Root(tenant="company-1", workspace="ws")
FOREIGN = [
    "company-12/ws/x",
    "company-1/ws2/x",
    "company-1/secret",
    "secret",
    "company-1/ws",
    "company-2/ws/x",
    "company-1/.index/ws/00",
]


def raw_store(backend):
    return backend._objects._store


# ── walls ──


def test_no_operation_reaches_a_key_outside_the_root(memory):
    """Whatever the paths: nothing foreign is changed, and nothing foreign is in an answer."""
    store, dice = raw_store(memory), random.Random(8)
    for key in FOREIGN:
        obstore.put(store, key, b"FOREIGN needle", use_multipart=False)
    paths = [*attacks.KNOWN, *attacks.FINE, *attacks.generated(2500, seed=3), *FOREIGN]
    calls = [
        lambda p, q: memory.ls(p),
        lambda p, q: memory.read(p),
        lambda p, q: memory.write(p, q.encode("utf-8", "replace").decode()),
        lambda p, q: memory.edit(p, "needle", q),
        lambda p, q: memory.glob(q, p),
        lambda p, q: memory.grep("needle", p, q[:20] or None),
        lambda p, q: memory.upload_files([(p, b"mine")]),
        lambda p, q: memory.download_files([p]),
        lambda p, q: memory.delete(p),
    ]
    for path in paths:
        call = dice.choice(calls)
        answer = call(path, dice.choice(paths))
        assert "FOREIGN" not in repr(answer), ascii(path)
    metas = {m["path"]: m["size"] for m in obstore.list(store).collect()}
    for key in FOREIGN:
        assert bytes(obstore.get(store, key).bytes()) == b"FOREIGN needle", key
    assert all(key in FOREIGN or key.startswith("company-1/ws/") for key in metas)


def test_the_root_is_asked_for_on_every_call_and_may_refuse():
    roots = [Root(tenant="a", workspace="ws"), Root(tenant="b", workspace="ws")]
    current = []

    def root():
        if not current:
            raise NoTenant("there is no workspace without an identity")
        return current[0]

    backend = ObjectStoreBackend(open_bucket(BucketConfig(kind="memory")), root)
    current[:] = [roots[0]]
    backend.write("/x", "a's")
    current[:] = [roots[1]]
    assert backend.read("/x").error
    current.clear()
    for answer in (
        backend.ls("/"),
        backend.read("/x"),
        backend.write("/x", "y"),
        backend.edit("/x", "a", "b"),
        backend.grep("a"),
        backend.glob("*"),
        backend.delete("/x"),
    ):
        assert answer.error.startswith("Error: permission_denied")
    assert backend.upload_files([("/x", b"y")])[0].error == "permission_denied"
    assert backend.download_files(["/x"])[0].error == "permission_denied"


def test_a_local_bucket_follows_no_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("FOREIGN")
    backend = ObjectStoreBackend(
        open_bucket(BucketConfig(kind="local", folder=tmp_path / "b")), ROOT
    )
    backend.write("/a.md", "mine")
    inside = tmp_path / "b" / "company-1" / "ws"
    (inside / "link").symlink_to(outside)
    (inside / "secret.md").symlink_to(outside / "secret.md")
    for path in ("/link/secret.md", "/secret.md"):
        assert backend.read(path).error
        assert backend.edit(path, "FOREIGN", "x").error
    assert [m["path"] for m in backend.glob("*").matches] == ["/a.md"]
    assert backend.grep("FOREIGN").matches == []
    backend.write("/link/new.md", "x")
    backend.write("/secret.md", "x")
    backend.delete("/link")
    assert sorted(p.name for p in outside.iterdir()) == ["secret.md"]
    assert (outside / "secret.md").read_text() == "FOREIGN"


# ── keys that others made ──


def strange_on_gcs(server):
    place = f"{server.url}/upload/storage/v1/b/{server.bucket}/o"
    for name in ("a//b", "a/../b", "x\x01y", "dir/", "cafe\u0301", "docs/./c", "a/./"):
        params = {"uploadType": "media", "name": f"{ROOT.prefix}/{name}"}
        assert httpx.post(place, params=params, content=b"needle").status_code == 200


def test_strange_keys_never_break_a_listing(gcs_server, gcs):
    gcs.write("/a/fine.md", "needle")
    gcs.write("/docs/d.md", "needle")
    strange_on_gcs(gcs_server)
    assert {m["path"] for m in gcs.glob("*.md").matches} == {"/a/fine.md", "/docs/d.md"}
    assert {m["path"] for m in gcs.grep("needle").matches} == {"/a/fine.md", "/docs/d.md"}
    assert {e["path"] for e in gcs.ls("/").entries} >= {"/a/", "/docs/"}
    assert {e["path"] for e in gcs.ls("/a").entries} == {"/a/fine.md"}
    assert {e["path"] for e in gcs.ls("/docs").entries} == {"/docs/d.md"}
    assert len(gcs.strange_keys()) == 7
    assert gcs.delete("/a").error is None
    assert gcs.read("/docs/d.md").error is None


@pytest.mark.parametrize("server", ["seaweed_server", "azurite_server"])
def test_the_direct_listing_says_what_obstore_says(server, request):
    config = request.getfixturevalue(server).config
    root = Root(tenant="company-1", workspace=f"raw{random.randrange(10**9)}")
    backend = ObjectStoreBackend(open_bucket(config), root)
    for n in range(7):
        backend.write(f"/d{n % 2}/é {n}+&.md", "x" * n)
    objects = backend._objects
    for is_deep in (True, False):
        direct = objects._raw_list(root.prefix, is_deep)
        usual = objects.listing(root.prefix) if is_deep else objects.folder(root.prefix)
        assert [(m.key, m.size, m.version.token) for m in direct.metas] == [
            (m.key, m.size, m.version.token) for m in usual.metas
        ]
        assert direct.folders == usual.folders
        assert direct.strange == []


def test_two_s3_servers_run_at_a_time(seaweed_server):
    with SeaweedServer() as other:
        obstore.put(other.store(), "x", b"1", use_multipart=False)
        with pytest.raises(FileNotFoundError):
            obstore.head(seaweed_server.store(), "x")


def test_a_folder_made_in_a_console_is_not_a_file(gcs_server, gcs):
    place = f"{gcs_server.url}/upload/storage/v1/b/{gcs_server.bucket}/o"
    params = {"uploadType": "media", "name": f"{ROOT.prefix}/empty/"}
    httpx.post(place, params=params, content=b"")
    assert gcs.glob("*").matches == []
    assert [(e["path"], e["is_dir"]) for e in gcs.ls("/").entries] == [("/empty/", True)]


# ── windows ──


def test_a_large_object_is_read_in_windows_without_being_loaded(gcs_server):
    backend = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT)
    line = b"%07d " + b"x" * 91 + b"\n"
    obstore.put(
        gcs_server.store(), f"{ROOT.prefix}/big.log", b"".join(line % n for n in range(300_000))
    )
    backend.read("/big.log", offset=0, limit=10)
    before = psutil.Process().memory_info().rss
    window = backend.read("/big.log", offset=250_000, limit=100)
    assert window.file_data["content"].startswith("0250000 ")
    assert (window.start_line, window.end_line, window.next_offset) == (250_001, 250_100, 250_100)
    gets = gcs_server.stats()["requests"]["GET"]
    following = backend.read("/big.log", offset=250_100, limit=100)
    assert following.file_data["content"].startswith("0250100 ")
    assert gcs_server.stats()["requests"]["GET"] - gets <= 2  # it goes on where it was
    last = backend.read("/big.log", offset=299_990, limit=100)
    assert (last.end_line, last.total_lines, last.next_offset) == (300_000, 300_000, None)
    assert backend.read("/big.log", offset=300_000, limit=5).error
    assert psutil.Process().memory_info().rss - before < 10 << 20


def test_a_large_object_that_changes_is_read_again(gcs):
    gcs.write("/big", "old line\n" * 600_000)
    assert gcs.read("/big", offset=500_000, limit=1).file_data["content"] == "old line\n"
    gcs.write("/big", "new and longer line\n" * 600_000)
    assert gcs.read("/big", offset=500_001, limit=1).file_data["content"] == "new and longer line\n"


def test_a_line_without_an_end_is_a_result(gcs):
    gcs.upload_files([("/one.txt", b"x" * (9 << 20))])
    assert "line longer" in gcs.read("/one.txt").error


# ── search ──


def fill(server, count, word=lambda n: "common"):
    store = server.store()

    def put(start):
        for n in range(start, count, 8):
            text = f"{word(n)} line {n}\n" + "filler text\n" * 20
            obstore.put(
                store, f"{ROOT.prefix}/d{n % 7}/{n:05}.md", text.encode(), use_multipart=False
            )

    threads = [threading.Thread(target=put, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_second_search_reads_only_the_listing(gcs_server, gcs):
    fill(gcs_server, 200)
    assert len(gcs.grep("common").matches) == 200
    gets = gcs_server.stats()["requests"]["GET"]
    assert len(gcs.grep("line 7\n".strip()).matches) == 11
    assert gcs_server.stats()["requests"]["GET"] - gets == 1
    gcs.edit("/d0/00000.md", "common", "special")
    assert [m["path"] for m in gcs.grep("special").matches] == ["/d0/00000.md"]


def test_a_search_stops_at_its_time_and_budget_and_says_so(gcs_server):
    fill(gcs_server, 100)
    for limits in (SearchLimits(seconds=0.0), SearchLimits(budget_bytes=1000, workers=2)):
        backend = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT, limits=limits)
        result = backend.grep("common")
        assert result.truncated
        assert len(result.matches) < 100


def test_a_large_workspace_has_an_index_that_outlives_the_process(gcs_server):
    fill(gcs_server, 300, word=lambda n: "rareword" if n == 150 else "common")
    limits = SearchLimits(index_from=100, cache_bytes=0)

    def process():
        return ObjectStoreBackend(open_bucket(gcs_server.config), ROOT, limits=limits)

    first = process()
    assert len(first.grep("rareword").matches) == 1
    second = process()
    gets = gcs_server.stats()["requests"]["GET"]
    assert [m["path"] for m in second.grep("rareword").matches] == ["/d3/00150.md"]
    read = gcs_server.stats()["requests"]["GET"] - gets
    assert read < 60  # the index's parts, the listing and few files; not 300
    second.edit("/d0/00007.md", "common", "rareword")  # the index is stale for this one
    assert len(process().grep("rareword").matches) == 2
    assert second.glob("*").matches
    assert all(not m["path"].startswith("/.index") for m in second.glob("**/*").matches)


def test_the_index_never_hides_a_match(gcs_server):
    dice = random.Random(5)
    letters = "abcdefgh ü→\n"
    texts = ["".join(dice.choice(letters) for _ in range(400)) for _ in range(60)]
    store = gcs_server.store()
    for n, text in enumerate(texts):
        obstore.put(store, f"{ROOT.prefix}/{n:03}", text.encode(), use_multipart=False)
    plain = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT)
    limits = SearchLimits(index_from=1)
    indexed = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT, limits=limits)
    for _ in range(40):
        source = dice.choice(texts).replace("\n", "")
        start = dice.randrange(len(source) - 6)
        needle = source[start : start + dice.randint(1, 6)]
        assert indexed.grep(needle).matches == plain.grep(needle).matches


# ── versions and quotas ──


def test_a_change_bound_to_a_version_happens_on_that_version_only(memory):
    assert memory.write("/a", "one", expect=Expectation(ABSENT)).error is None
    refused = Expectation(ABSENT)
    assert "changed since" in memory.write("/a", "two", expect=refused).error
    assert refused.was_refused
    token, data = memory.seen("/a")
    assert data == b"one"
    assert memory.edit("a", "one", "two", expect=Expectation(token)).error is None
    for change in (
        lambda expect: memory.write("/a", "three", expect=expect),
        lambda expect: memory.edit("/a", "two", "three", expect=expect),
        lambda expect: memory.delete("/a", expect=expect),
    ):
        refused = Expectation(token)
        assert "changed since" in change(refused).error
        assert refused.was_refused
    assert memory.seen("/a")[1] == b"two"
    assert memory.write("/a", "free").error is None  # without a condition


def test_a_bound_write_cannot_slip_in_between(gcs_server, gcs):
    """The file changes after the version was compared and before it is written."""
    gcs.write("/a", "one")
    token, _ = gcs.seen("/a")
    other = ObjectStoreBackend(open_bucket(gcs_server.config), ROOT)
    inner = gcs._objects.put

    def put_late(*args, **kwargs):
        other.write("/a", "theirs")
        return inner(*args, **kwargs)

    gcs._objects.put = put_late
    expect = Expectation(token)
    assert "changed since" in gcs.write("/a", "mine", expect=expect).error
    assert expect.was_refused
    assert gcs.seen("/a")[1] == b"theirs"


def test_a_quota_is_kept_and_counts_differences():
    quota = Quota(bytes=10, objects=2)
    backend = ObjectStoreBackend(
        open_bucket(BucketConfig(kind="memory")), ROOT, quota=lambda tenant: quota
    )
    assert backend.write("/a", "12345").error is None
    assert backend.write("/a", "1234567890").error is None  # five more, not ten
    assert "permission_denied" in backend.write("/b", "x").error
    assert backend.write("/a", "1").error is None
    assert backend.write("/b", "x").error is None
    assert backend.write("/c", "x").error  # a third object
    assert backend.edit("/a", "1", "1" * 20).error
    assert backend.upload_files([("/c", b"x")])[0].error
