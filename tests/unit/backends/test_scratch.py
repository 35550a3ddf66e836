"""Versions of a file that meet: the descendant wins, rivals are both kept, in any order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.backends.scratch import _stamp, merge_files, tombstones
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says


def file(content: str, **more) -> dict:
    return {"content": content, "encoding": "utf-8", **more}


def contents(files: dict) -> set[str]:
    return {stored["content"] for stored in files.values()}


def histories():
    """Writers that each start from some earlier version and write some new ones."""
    return st.lists(
        st.tuples(st.integers(0, 20), st.text("abc", min_size=1, max_size=3)),
        min_size=1,
        max_size=12,
    )


def grow(history) -> list[dict]:
    versions = [_stamp(file("start"), None)]
    for parent, text in history:
        current = versions[parent % len(versions)]
        versions.append(_stamp(file(current["content"] + text), current))
    return versions


def heads(versions: list[dict]) -> list[dict]:
    """The versions that no other grew from."""
    return [v for v in versions if not any(v["rev"] in w["past"] for w in versions)]


@given(histories(), st.randoms())
def test_no_head_is_lost_in_whatever_order_versions_meet(history, random):
    versions = grow(history)
    random.shuffle(versions)
    merged = merge_files({}, [{"/f": version} for version in versions])
    assert {head["content"] for head in heads(versions)} <= contents(merged)


@given(histories(), st.integers(0, 12))
def test_updates_fold_the_same_in_one_batch_or_two(history, cut):
    updates = [{"/f": version} for version in grow(history)]
    at_once = merge_files({}, updates)
    assert merge_files(merge_files({}, updates[:cut]), updates[cut:]) == at_once


@given(histories())
def test_seeing_a_version_twice_changes_nothing(history):
    updates = [{"/f": version} for version in grow(history)]
    once = merge_files({}, updates)
    assert merge_files(once, updates) == once


def test_what_a_client_gives_replaces_what_was_there():
    edited = merge_files({}, [{"/f": _stamp(file("edited"), file("given"))}])
    assert merge_files(edited, [{"/f": file("given again")}])["/f"]["content"] == "given again"


def test_an_old_copy_that_comes_back_does_not_replace_a_newer_version():
    edited = merge_files({}, [{"/f": _stamp(file("edited"), file("given"))}])
    assert merge_files(edited, [{"/f": file("given")}]) == edited


def test_a_deletion_is_a_version_too():
    first = _stamp(file("text"), None)
    deleted = merge_files({"/f": first}, [{"/f": _stamp(None, first)}])
    assert tombstones(deleted) == ["/f"]
    assert merge_files(deleted, [{"/f": first}]) == deleted
    assert merge_files(deleted, [{"/f": None}]) == {}


def test_a_client_may_give_bare_text_and_a_bare_name():
    assert merge_files({}, [{"a.md": "text"}]) == {"/a.md": file("text")}


@pytest.mark.parametrize("path", ["/a\0b", "", "/", "/a\nb", "/a/..", "/" + "x" * 2000])
def test_a_name_that_no_file_can_have_is_refused_in_words(path):
    model = ScriptedChatModel(
        script=[calls("write_file", file_path=path, content="x"), says("No.")]
    )
    state = build(AgentSpec(name="t", model=model)).invoke({"messages": [("user", "x")]})
    assert not state.get("files")
    assert [m.status for m in state["messages"] if m.type == "tool"] == ["error"]
