import json
import sys
import unicodedata
from pathlib import Path

from bathysphere.core.invisible import reveal

VECTORS = Path(__file__).with_name("invisible.json")


def test_exactly_the_listed_characters_are_revealed():
    listed = json.loads(VECTORS.read_text())["ranges"]
    expected = {code for first, last in listed for code in range(first, last + 1)}
    revealed = {code for code in range(sys.maxunicode + 1) if reveal(chr(code)) != chr(code)}
    assert revealed == expected


def test_every_format_and_control_character_of_unicode_is_revealed():
    hidden = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cf", "Cc")
        and chr(code) not in "\t\n"
        and reveal(chr(code)) == chr(code)
    ]
    assert hidden == []


def test_a_reversed_text_shows_where_it_turns():
    assert reveal("pay \u202e05\u202c") == "pay ⟨U+202E⟩05⟨U+202C⟩"
    assert reveal("a\u200bb\tc\n") == "a⟨U+200B⟩b\tc\n"
