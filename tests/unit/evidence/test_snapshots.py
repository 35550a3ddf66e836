import pytest
from evidence_pages import NOON, page

from bathysphere.core.errors import CallerError
from bathysphere.evidence.snapshots import Snapshot, take_snapshot


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
    with pytest.raises(CallerError, match="split a character"):
        snapshot.slice(0, 2)
    for start, end in [(-1, 3), (3, 3), (0, 99)]:
        with pytest.raises(CallerError, match="are not in"):
            snapshot.slice(start, end)


def test_what_has_no_utf_8_is_replaced():
    assert page_with_surrogate().text == "a?b"


def page_with_surrogate() -> Snapshot:
    return take_snapshot("https://example.org", b"a", "a\ud800b", fetched_at=NOON)


@pytest.mark.parametrize("part", ["body", "text"])
def test_a_changed_part_is_noticed(part):
    snapshot = page("something")
    parts = {"body": snapshot.body, "text": snapshot.text}
    parts[part] = b"something else" if part == "body" else "something else"
    with pytest.raises(CallerError, match="does not match its hash"):
        Snapshot(snapshot.info, parts["body"], parts["text"]).check()
