import pytest
from evidence_pages import NOON, page

from bathysphere.core.errors import CallerError
from bathysphere.evidence.snapshots import (
    FolderSnapshots,
    MemorySnapshots,
    Snapshot,
    UnknownSnapshot,
    take_snapshot,
)


def test_the_id_follows_from_what_was_read_and_not_from_when():
    one = page("the same text")
    later = take_snapshot(
        one.info.url, one.body, one.text, fetched_at=NOON.replace(year=2027), title="New"
    )
    assert one.id == later.id
    assert one.id != page("another text").id
    assert one.id != page("the same text", url="https://example.org/b").id


def test_offsets_count_bytes_of_the_text():
    snapshot = page("héllo wörld")
    assert snapshot.slice(0, 6) == "héllo"
    with pytest.raises(CallerError, match="cut a character"):
        snapshot.slice(0, 2)
    for start, end in [(-1, 3), (3, 3), (0, 99)]:
        with pytest.raises(CallerError, match="are not in"):
            snapshot.slice(start, end)


def test_what_has_no_utf_8_is_replaced():
    assert page_with_surrogate().text == "a?b"


def page_with_surrogate() -> Snapshot:
    return take_snapshot("https://example.org", b"a", "a\ud800b", fetched_at=NOON)


@pytest.mark.parametrize("kind", ["memory", "folder"])
async def test_a_store_gives_back_what_was_put(kind, tmp_path):
    store = MemorySnapshots() if kind == "memory" else FolderSnapshots(tmp_path / "new")
    snapshot = page("text “with” marks", title="A  title", published="2020-01-02")
    assert await store.put(snapshot) == await store.put(snapshot) == snapshot.id
    found = await store.get(snapshot.id)
    assert (found.info, found.body, found.text) == (snapshot.info, snapshot.body, snapshot.text)
    for unknown in ("0" * 24, "../../etc/passwd", ""):
        with pytest.raises(UnknownSnapshot):
            await store.get(unknown)


@pytest.mark.parametrize("ending", ["body", "txt"])
async def test_a_changed_file_is_noticed(ending, tmp_path):
    store = FolderSnapshots(tmp_path)
    snapshot_id = await store.put(page("something"))
    (tmp_path / f"{snapshot_id}.{ending}").write_bytes(b"something else")
    with pytest.raises(CallerError, match="not what it says"):
        await store.get(snapshot_id)
