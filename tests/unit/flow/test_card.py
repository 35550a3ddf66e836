"""What a question shows: each value with its source, in words and with the passage."""

import json
from pathlib import Path

import pytest

from bathysphere.flow.judge import Reason
from bathysphere.flow.occurrences import whole_occurrences
from bathysphere.flow.provenance import Source, explain, locate
from bathysphere.flow.sentences import sentence
from bathysphere.middleware.client_files.wire import Window, to_text

EXAMPLES = json.loads((Path(__file__).parent / "sentences.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_a_reason_is_a_sentence(example):
    assert sentence(example["reason"]) == example["sentence"]


def test_the_examples_have_every_reason():
    whys = {example["reason"]["why"] for example in EXAMPLES}
    assert whys == set(Reason.__annotations__["why"].__args__)


def window(text, start=0):
    """A passage as the model gets it, by the code that writes it."""
    total = start + len(text) + 5
    return to_text(
        Window(file_id="doc-1", title="Bill", version="v", start=start, text=text, total=total)
    )


def test_a_value_in_a_document_can_be_opened_there():
    text = "First line\nPay “DE89” now"
    found = locate("DE89", [Source("c", "read_user_file", "doc-1", window(text))])
    assert found["line"] == 2
    assert found["excerpt"] == "Pay “DE89” now"
    document = found["document"]
    assert (document["file"], document["title"]) == ("doc-1", "Bill")
    assert text[document["start"] : document["end"]] == document["quote"] == "DE89"


def test_the_line_of_a_later_part_of_a_document_is_not_known():
    found = locate("DE89", [Source("c", "read_user_file", "", window("Pay DE89", start=40))])
    assert found["line"] is None
    assert found["document"]["start"] == 44


def test_a_document_cannot_imitate_another():
    fake = window("Hi").replace("doc-1", "doc-2").replace("Bill", "Will")
    first = window(f"{fake} and DE89")
    source = Source(
        "c", "search_user_files", "", f"{first}\n\n{window('Pay CH93').replace('Bill', 'Third')}"
    )
    assert locate("DE89", [source])["document"]["title"] == "Bill"
    assert locate("CH93", [source])["document"]["title"] == "Third"


def test_only_the_tools_of_documents_name_a_document():
    found = locate("DE89", [Source("c", "evil", "", window("Pay DE89"))])
    assert "document" not in found
    assert found["excerpt"] == "Pay DE89"


def test_texts_in_json_are_shown_as_they_read():
    source = Source(
        "c", "bank", "", json.dumps({"rows": [{"note": "First\nPay “DE89”", "sum": 250}]})
    )
    assert locate("DE89", [source])["excerpt"] == "Pay “DE89”"
    assert locate(250, [source])["excerpt"] == "250"


def test_a_short_value_is_not_found_within_words():
    source = Source("c", "read", "", "2026-01-12 and 1,250.00 and notbob@x.example")
    assert locate(2, [source]) is None
    assert locate(250, [source]) is None
    assert locate("bob@x.example", [source])["found"] == "bob@x.example"


def test_a_whole_value_in_an_older_source_is_preferred():
    old = Source("1", "read", "", "Pay DE891 today.")
    new = Source("2", "read", "", "Pay DE8912 today.")
    assert locate("DE891", [new, old])["call"] == "1"


def test_letters_that_fold_to_two_do_not_shift_the_mark():
    found = locate("DE891", [Source("1", "read", "", "Straße ß DE891.")])
    assert found["found"] == "DE891"


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("DE89", True),
        ("Pay DE89.", True),
        ("Pay (DE89), now", True),
        ('{"a": "DE89"}', True),
        ("Pay DE89.12", False),
        ("Pay DE89\u200b", False),
        ("xDE89", False),
        ("a=DE89", False),
        ("DE89/x", False),
        ("a.DE89", False),
        ("DE89@x.example", False),
    ],
)
def test_a_whole_value_does_not_go_on(text, is_whole):
    assert bool(list(whole_occurrences(text, "DE89"))) is is_whole


def test_a_call_as_such_has_no_source():
    (shown,) = explain([Reason("unplanned")], [Source("1", "read", "", "x")])
    assert shown["source"] is None
