"""Where the keys of a TOML file are."""

import tomllib

import pytest

from bathysphere.registry.toml_lines import TomlLines

TEXT = '''\
name = "helper"
"quoted key" = 1
description = """
[not.a.table]
tools = ["no key"]
"""
tools = [
  "tools.py:first",
  # a comment
  "tools.py:second",
]
nested = [
  ["a"],
  ["b"]
]

[models]  # roles
main = "demo:tour"
[ subagents . diver ]
description = "Dives"
limits.seconds = 3
[subagents."deep diver"]
description = 'Dives deep'
inline = { left = 1, right = "text" }
'''


@pytest.fixture(scope="module")
def lines():
    return TomlLines(TEXT, tomllib.loads(TEXT))


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("name",), 1),
        (("quoted key",), 2),
        (("description",), 3),
        (("tools",), 7),
        (("tools", 0), 8),
        (("tools", 1), 10),
        (("nested",), 12),
        (("models",), 17),
        (("models", "main"), 18),
        (("subagents", "diver"), 19),
        (("subagents", "diver", "description"), 20),
        (("subagents", "diver", "limits", "seconds"), 21),
        (("subagents", "deep diver", "description"), 23),
        (("subagents", "deep diver", "inline", "right"), 24),
    ],
)
def test_a_key_or_an_item_has_its_line(lines, place, line):
    assert lines.line_of(place) == line


def test_what_is_not_there_has_the_line_around_it(lines):
    assert lines.line_of(("models", "main", "str")) == 18
    assert lines.line_of(("models", "summary")) == 17
    assert lines.line_of(("nothing",)) == 1
    assert lines.line_of(()) == 1
