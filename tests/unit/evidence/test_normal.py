import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.evidence.normal import normalise, plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("“Smart” and ‘single’ quotes", "\"Smart\" and 'single' quotes"),
        ("a – b — c − d ‑ e", "a - b - c - d - e"),
        ("one\n\n two\t three\u00a0four", "one two three four"),
        ("  ends  ", "ends"),
        ("an inter-\n   national treaty", "an international treaty"),
        ("soft\u00adhyphen", "softhyphen"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("ﬁne ﬂow", "fine flow"),
        ("１２３", "123"),
        ("cafe\u0301", "café"),
        ("Ⅳ and ½", "IV and 1⁄2"),
        ("\u1112\u1161\u11ab", "한"),
        ("a\u202eb", "ab"),
        ("wait…", "wait..."),
    ],
)
def test_these_are_the_same(one, other):
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Word", "word"),
        ("12", "21"),
        ("well-known", "wellknown"),
        ("A-\nB", "AB"),
        ("1-\n2", "12"),
        ("a b", "ab"),
    ],
)
def test_these_are_not(one, other):
    assert plain(one) != plain(other)


@given(st.text())
def test_normalising_twice_changes_nothing_and_offsets_are_in_order(text):
    once = normalise(text.encode("utf-8", "replace").decode())
    assert len(once.text) == len(once.starts) == len(once.ends)
    assert all(start < end for start, end in zip(once.starts, once.ends, strict=True))
    assert list(once.starts) == sorted(once.starts)
    assert not once.text.startswith(" ")
    assert not once.text.endswith(" ")
    assert "  " not in once.text


LETTERS = "abcdé ſﬁ“”–\u00ad\n\t.,0129한ü\u0301Ⅳ𝒜 - -  \u1161\u11ab"


@given(st.text(alphabet=st.sampled_from(LETTERS), min_size=1), st.data())
def test_what_is_found_is_what_was_asked_for(source, data):
    text = normalise(source).text
    start = data.draw(st.integers(0, len(text)))
    wanted = text[start : data.draw(st.integers(start, len(text)))].strip()
    span = normalise(source).find(wanted)
    if span is not None:
        assert plain(source.encode()[span.start : span.end].decode()) == wanted


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("grew by 1", "sales grew by 12 percent"),
        ("grew by 1", "sales grew by 1.5 percent"),
        ("grew by 1", "sales grew by 1,500 units"),
        ("5 percent", "sales grew by 1.5 percent"),
        ("the part", "the party won"),
        ("arty won", "the party won"),
        ("number 한", "number 한\u0301"),
        ("it cost 5 .", "it cost 5 .\u0301"),
        ("\u0301 is odd", "Ⅳ\u0301 is odd"),
    ],
)
def test_a_word_or_number_is_not_cut(words, source):
    assert normalise(source).find(words) is None


def test_a_sentence_may_end_after_a_number():
    assert normalise("It grew by 12. Then it fell.").find("grew by 12")
    assert normalise("It grew by 12, then fell.").find("grew by 12")


def test_letters_that_are_taken_by_the_run_are_those_that_no_step_changes():
    import sys
    import unicodedata

    from bathysphere.evidence.normal import _FOLD, _PLAIN

    taken = [letter for letter in map(chr, range(sys.maxunicode + 1)) if _PLAIN.fullmatch(letter)]
    assert len(taken) > 30_000
    for letter in taken:
        assert unicodedata.normalize("NFKC", letter) == letter == letter.translate(_FOLD)
        assert not letter.isspace()
        assert len(letter.encode()) <= 3
