"""What a device answers: in the wire's shape, capped, and only what the person took is written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.device.device import MAX_TEXT, Device, Refused, Verdict
from bathysphere.device.documents import MemoryDocuments, NoDocuments, version_of
from bathysphere.device.hunks import chosen, hunks_of, lines_of
from bathysphere.middleware.client_files.middleware import _TOOLS
from bathysphere.middleware.client_files.wire import Changed, Failed, disclosed, to_text

SHAPES = {name: answers for name, _, _, answers, _ in _TOOLS}
ESSAY = "Money is trust.\n\nGold is metal.\nNobody voted for it.\n"


def ask(device, name, **args):
    """The device's answer, which must have the shape that the server takes."""
    answer = device.run({"id": "c1", "name": name, "args": args})
    assert list(answer) == ["c1"]
    result = answer["c1"]
    shape = Failed if "error" in result else SHAPES[name]
    shape.model_validate(result)
    return result


def told(name, result):
    """How the model reads an answer."""
    return to_text(SHAPES[name].model_validate(result))


@pytest.fixture
def texts():
    return {"essay.md": ESSAY, "notes/gold.txt": "Gold glitters.\n"}


@pytest.fixture
def device(texts):
    return Device(MemoryDocuments(texts))


def patch(device, search, replace, *, version=None, file_id="essay.md"):
    version = version or device.documents.read(file_id).version
    args = {"file_id": file_id, "base_version": version, "search": search, "replace": replace}
    return ask(device, "patch_user_file", **args, description="Better.")


# ── reading ──


def test_documents_are_listed_with_type_version_and_size(device):
    files = ask(device, "list_user_files")["files"]
    assert [(f["id"], f["type"], f["characters"]) for f in files] == [
        ("essay.md", "markdown", len(ESSAY)),
        ("notes/gold.txt", "text", 15),
    ]
    assert files[0]["version"] == version_of(ESSAY)
    assert [f["id"] for f in ask(device, "list_user_files", file_type="text")["files"]] == [
        "notes/gold.txt"
    ]


def test_a_list_is_capped_and_says_so():
    device = Device(MemoryDocuments({f"{n:03}.md": "x" for n in range(201)}))
    answer = ask(device, "list_user_files")
    assert (len(answer["files"]), answer["truncated"]) == (200, True)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("*.MD", ["essay.md"]), ("gold*", ["notes/gold.txt"]), ("notes/*", ["notes/gold.txt"])],
)
def test_a_glob_fits_the_path_or_its_last_part(device, pattern, found):
    assert [f["id"] for f in ask(device, "glob_user_files", pattern=pattern)["files"]] == found


def test_a_document_is_read_in_parts(device):
    part = ask(device, "read_user_file", file_id="essay.md", offset=6, limit=2)
    assert (part["start"], part["text"], part["total"]) == (6, "is", len(ESSAY))
    after = ask(device, "read_user_file", file_id="essay.md", offset=9_999)
    assert (after["start"], after["text"]) == (len(ESSAY), "")


def test_lines_are_found_to_the_letter_with_their_place(device):
    (row,) = ask(device, "grep_user_files", pattern="gold is")["matches"]
    assert (row["file_id"], row["line"], row["text"]) == ("essay.md", 3, "Gold is metal.")
    assert ESSAY[row["start"] :].startswith(row["text"])
    assert ask(device, "grep_user_files", pattern="gold is", case_sensitive=True)["matches"] == []
    assert len(ask(device, "grep_user_files", pattern="gold", glob="*.txt")["matches"]) == 1


def test_a_long_line_is_cut_around_what_was_found_and_many_lines_are_capped():
    device = Device(MemoryDocuments({"a": "x" * 3_000 + "needle" + "y" * 3_000}))
    (row,) = ask(device, "grep_user_files", pattern="needle")["matches"]
    assert "needle" in row["text"]
    assert len(row["text"]) == 500
    device = Device(MemoryDocuments({"a": ("needle" + "x" * 400 + "\n") * 100}))
    answer = ask(device, "grep_user_files", pattern="needle")
    assert answer["truncated"]
    assert sum(len(row["text"]) for row in answer["matches"]) <= MAX_TEXT


def test_search_ranks_by_words_and_says_that_it_does_not_know_meanings(device):
    answer = ask(device, "search_user_files", query="What is gold, the metal?", top_k=2)
    assert [hit["file_id"] for hit in answer["hits"]] == ["essay.md", "notes/gold.txt"]
    hit = answer["hits"][0]
    assert ESSAY[hit["start"] :].startswith("Gold is metal.\n")
    assert "finds words, not meanings" in told("search_user_files", answer)
    nothing = ask(device, "search_user_files", query="currency")
    assert told("search_user_files", nothing).startswith("Nothing found.")
    assert ask(device, "search_user_files", query="?!")["hits"] == []


# ── proposals ──


def test_a_new_document_and_a_patch_are_written_as_taken(device, texts):
    new = ask(device, "write_user_file", title="New", content="x\n", description="d")
    assert (new["status"], device.documents.texts["New"]) == ("applied", "x\n")
    assert patch(device, "trust", "paper")["status"] == "applied"
    assert device.documents.texts["essay.md"].startswith("Money is paper.")


def test_what_is_refused_is_not_written_and_the_reasons_are_told(device):
    refused = (Refused("x", "not my words"), Refused("y", "not my words"), Refused("z"))
    device.decide = lambda proposal: Verdict(text=None, refused=refused)
    answer = patch(device, "trust", "paper")
    assert (answer["status"], answer["reason"]) == ("refused", "not my words")
    assert device.documents.texts["essay.md"] == ESSAY
    assert "nothing was changed. Reason: not my words" in told("patch_user_file", answer)


def test_of_a_change_in_part_the_agent_sees_what_is_there_now(device):
    written = ESSAY.replace("Money is trust.", "Money is belief.")

    def half(proposal):
        return Verdict(text=written, refused=(Refused("Nobody wanted it.\n", "too strong"),))

    device.decide = half
    answer = patch(device, ESSAY, ESSAY.replace("trust", "belief").replace("voted for", "wanted"))
    assert device.documents.texts["essay.md"] == written
    assert answer["status"] == "partly"
    assert written[answer["start"] :].startswith(answer["text"])
    words = told("patch_user_file", answer)
    assert "Money is belief." in words
    assert "Nobody voted for it." in words
    assert words.endswith("- refused: too strong: Nobody wanted it.\n")


def test_a_patch_for_another_version_is_never_applied_and_brings_the_present_text(device):
    asked = []
    device.decide = lambda proposal: asked.append(proposal)
    answer = patch(device, "trust", "paper", version="0123456789abcdef")
    assert answer["status"] == "conflict"
    assert (answer["version"], answer["text"]) == (version_of(ESSAY), ESSAY)
    assert asked == []  # the person is not troubled with it
    assert device.documents.texts["essay.md"] == ESSAY


def test_an_edit_while_the_person_makes_up_their_mind_is_a_conflict_too(device):
    def edits_meanwhile(proposal):
        device.documents.texts["essay.md"] = "Mine.\n"
        return Verdict(text=proposal.after)

    device.decide = edits_meanwhile
    answer = patch(device, "trust", "paper")
    assert (answer["status"], answer["text"]) == ("conflict", "Mine.\n")
    assert device.documents.texts["essay.md"] == "Mine.\n"


def test_of_a_long_document_a_conflict_brings_the_part_that_was_meant():
    long = "".join(f"Line {n}.\n" for n in range(9_000))
    device = Device(MemoryDocuments({"essay.md": long}))
    answer = patch(device, "Line 7000.\n", "x", version="0" * 16)
    assert len(answer["text"]) == MAX_TEXT
    assert "Line 7000.\n" in answer["text"]
    (left,) = disclosed(Changed.model_validate(answer), call="c1", tool="patch_user_file")
    assert (left["start"], left["end"]) == (answer["start"], answer["start"] + MAX_TEXT)
    assert long[answer["start"] :].startswith(answer["text"])
    assert f"at {answer['start']}-" in told("patch_user_file", answer)


@pytest.mark.parametrize(
    ("search", "replace", "why"),
    [
        ("nothing like it", "x", "was not found"),
        ("is", "x", "occurs 2 times"),
        ("trust", "trust", "same as the original text"),
    ],
)
def test_a_patch_that_cannot_be_placed_is_an_error_in_words(device, search, replace, why):
    assert why in patch(device, search, replace)["error"]
    assert device.documents.texts["essay.md"] == ESSAY


def test_a_patch_fits_a_document_with_windows_line_ends():
    device = Device(MemoryDocuments({"essay.md": "one\r\ntwo\r\nthree\r\n"}))
    assert patch(device, "one\ntwo\n", "1\n2\n")["status"] == "applied"
    assert device.documents.texts["essay.md"] == "1\r\n2\r\nthree\r\n"


@pytest.mark.parametrize("name", [*SHAPES, "format_disk"])
def test_what_cannot_be_done_is_an_answer(name):
    device = Device(NoDocuments())
    assert "error" in device.run({"id": "c1", "name": name, "args": {"what": 1}})["c1"]


def test_a_device_that_shares_nothing_tells_the_agent_so():
    device = Device(NoDocuments())
    for name, args in (
        ("list_user_files", {}),
        ("read_user_file", {"file_id": "a"}),
        ("write_user_file", {"title": "a", "content": "", "description": "d"}),
    ):
        assert "No documents are shared" in ask(device, name, **args)["error"]


# ── hunks ──

PIECES = ["a\n", "b\n", "c\r\n", "\n", "d", "One. ", "Two! ", "Three…\n", "word " * 40]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(TEXTS, TEXTS)
def test_all_hunks_make_the_new_text_and_none_the_old(before, after):
    hunks = hunks_of(before, after)
    assert "".join(lines_of(before)) == before
    assert chosen(before, hunks, [hunk.new_text for hunk in hunks]) == after
    assert chosen(before, hunks, [None] * len(hunks)) == before
    assert all(one.end < two.start for one, two in pairwise(hunks))


PROSE = (
    "Inflation is a tax. It falls on those who save, and it falls on them without a vote. "
    "Nobody chose it (nobody was asked!) Some say that this is the price of a bank.\n"
)


def test_in_prose_the_parts_are_sentences():
    after = PROSE.replace("is a tax", "works like a tax").replace("Some say", "They say")
    hunks = hunks_of(PROSE, after)
    assert [hunk.new_text for hunk in hunks] == [
        "Inflation works like a tax. ",
        "They say that this is the price of a bank.\n",
    ]
    assert chosen(PROSE, hunks, [hunks[0].new_text, None]) == PROSE.replace(
        "is a tax", "works like a tax"
    )
    assert chosen(PROSE, hunks, [hunk.new_text for hunk in hunks]) == after


def test_one_hunk_of_two_is_taken():
    before, after = "a\nb\nc\n", "A\nb\nC\n"
    hunks = hunks_of(before, after)
    assert chosen(before, hunks, [hunks[0].new_text, None]) == "A\nb\nc\n"
    assert chosen(before, hunks, [None, "mine\n"]) == "a\nb\nmine\n"
