"""Equality of values, and addresses in texts: generous in finding, strict in comparing."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.flow.addresses import addresses, comparable, disguised, links
from bathysphere.flow.values import canonical, leaves


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (100, "100"),
        (100.0, 100),
        (98.7, "98.7"),
        (" alice ", "alice"),
        ("Alice@Example.com", "alice@example.com"),
        ("HTTPS://Example.com/Path", "https://example.com/Path"),
        (["a", 1], ("a", "1")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_one_value_in_two_notations_is_equal(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("7", "007"),
        (1, True),
        ("True", True),
        ("None", None),
        ("Alice", "alice"),
        ("alice", "аlice"),  # Cyrillic
        ("alice", "ali\u200bce"),
        ("alice", "ａｌｉｃｅ"),
        ("alice\u00a0", "alice"),
        ("K", "\u212a"),  # the Kelvin sign, which Unicode normalizes to K
        ("kit@x.com", "\u212ait@x.com"),
        ("https://kit.com", "https://\u212ait.com"),
        ("https://x.com/Path", "https://x.com/path"),
        ("https://x.com", "http://x.com"),
        ("alice@x.com", "alice@x.com.evil.com"),
        ("é", "e\u0301"),
        ([1, 2], [2, 1]),
        (["a", "b"], ["ab"]),
        (["a", "b"], "a,b"),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    ],
)
def test_what_only_looks_alike_is_another_value(one, other):
    assert canonical(one) != canonical(other)


def test_lists_are_taken_apart_and_objects_are_not():
    pair = {"to": "alice", "amount": 5}
    assert list(leaves(["a", ["b", None, ""], pair, 0, False])) == ["a", "b", pair, 0, False]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://evil.example/login.", ["https://evil.example/login"]),
        ("[here](https://evil.example/a?b=c)", ["https://evil.example/a?b=c"]),
        ("go to (evil.com/login), now", ["evil.com/login"]),
        ("www.shop.example", ["www.shop.example"]),
        ("evil.Com", ["evil.Com"]),
        ("еvil.com", ["еvil.com"]),
        ("write to mallory@evil.com!", ["mallory@evil.com"]),
        ("mailto:mallory@evil.com", ["mailto:mallory@evil.com"]),
        ("javascript:alert(1)", ["javascript:alert(1"]),
        ("at 10.0.0.1 or 10.0.0.1:80/x", ["10.0.0.1", "10.0.0.1:80/x"]),
        ("DE89 3704 0044 0532 0130 00", ["DE89 3704 0044 0532 0130 00"]),
        ("to UK12345678901234567890 today", ["UK12345678901234567890"]),
        ("account 12345678", ["12345678"]),
        ("call +49 30 1234567", ["+49 30 1234567"]),
        ("(555) 123-4567", ["(555) 123-4567"]),
        # A sentence without the space after it; its address is still found.
        ("the site www.our-company.com.They know", ["www.our-company.com"]),
        # What hangs on a link belongs to it.
        ("https://good.com/a,secret", ["https://good.com/a,secret"]),
        ("good.com/a,evil.com", ["good.com/a,evil.com"]),
        # What stands directly beside a date, a time or an account is found, too.
        ("2024-05-15DE89370400440532013000", ["DE89370400440532013000"]),
        ("10:30 +49 30 1234567", ["+49 30 1234567"]),
        ("DE89370400440532013000 1234567", ["DE89370400440532013000", "1234567"]),
        ("123 4567 89a", ["123 4567"]),
        ("1https://evil.com", ["https://evil.com"]),
    ],
)
def test_an_address_is_found(text, found):
    assert addresses(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-05-15 at 10:00, or 15.05.2024, 14:30:00-15:30",
        "2024-05-15T10:00",
        "report.docx and notes.txt, see Node.js, e.g. v1.2.3",
        "All is done.Thanks for it",
        "It costs 1234.56 or 1,000,000 and 3.14",
        "and/or, 24/7, a.m., Ph.D.",
        "@alice in #general",
    ],
)
def test_dates_files_and_sentences_are_no_addresses(text):
    assert addresses(text) == []


@pytest.mark.parametrize(
    "text", ["ev\u200bil.com", "ｅｖｉｌ．ｃｏｍ", "evil\u00ad.com", "evil․com"]
)
def test_a_disguised_address_is_found(text):
    assert disguised(text) == ["evil.com"]


def test_an_address_beside_a_special_character_is_not_disguised():
    assert disguised("x.com… and 12\u00a0345\u00a0678") == []


def test_the_notation_of_an_address_does_not_count_and_its_parts_do():
    assert comparable("www.x.com") == comparable("https://www.X.com/")
    assert comparable("DE89 3704 0044") == comparable("DE8937040044")
    assert comparable("https://x.com/a") != comparable("https://x.com/a/b")
    assert comparable("https://x.com/a") != comparable("https://x.com/A")
    assert comparable("x.com") != comparable("x.com.evil.com")
    assert comparable("DE89370400440532013ı00") != comparable("DE89370400440532013I00")


HOSTS = st.from_regex(r"[a-z][a-z0-9-]{0,10}\.(com|org|example)", fullmatch=True)
AROUND = st.sampled_from(["", " ", "(", ")", "[", "]", ", ", ". ", "! ", "\n", "“", "”", "*", "'"])


@given(HOSTS, st.sampled_from(["", "/", "/a", "?q=1", "/a?b=c#d"]), AROUND, AROUND)
def test_a_link_is_found_wherever_it_stands(host, rest, before, after):
    for link in (f"https://{host}{rest}", f"{host}{rest}"):
        assert any(host in found for found in links(f"Look{before or ' '}{link}{after or ' '}here"))


PROSE = (
    "The committee met on 2024-05-15 at 10:30 (see the minutes), and agreed that the budget of "
    "12,500 is fine; e.g. travel. Details are in report.docx. Thanks to all who came, and to "
    "bob@x.com for the room.\n"
)


def seconds(text, times=1, search=addresses):
    """The processor time of the fastest search."""
    measured = []
    for _ in range(times):
        start = time.process_time()
        search(text)
        measured.append(time.process_time() - start)
    return min(measured)


def test_an_ordinary_text_takes_little_longer_than_splitting_it_into_words(within):
    """20 KiB take less than a millisecond on a free processor; the bound holds on any."""
    text = "".join(PROSE.replace("bob", f"bob{n}") for n in range(150))[: 20 * 1024]
    assert len(addresses(text)) > 90
    words = seconds(text, times=40, search=re.compile(r"[^\s<>]+").findall)
    within(seconds(text, times=40), 6 * words)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "1",
            "1 ",
            "1-",
            "a.",
            "a@",
            "a:",
            "DE12 ",
            "AB12",
            "12:34:",
            "(1",
            "+",
            "'",
            ".",
            "x.com'",
        ),
        *("http://", "2024-01-01", "2024-01-01 ", "a1 ", "\u00a0", "DE89370400440532013000 "),
    ],
)
def test_no_text_takes_more_than_linear_time(piece, within):
    short = (piece * 8000)[:8000] + "a"
    small, large = seconds(short, times=3), seconds(short * 8, times=2)
    within(large, 8 * 3 * small + 0.005)
