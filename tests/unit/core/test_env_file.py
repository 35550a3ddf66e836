"""A `.env` file, as langgraph and Docker read it."""

import pytest

from bathysphere.core.env_file import parse_env_file
from bathysphere.core.errors import ConfigError


def test_names_and_values():
    text = (
        "# a comment\n\nA=1\nexport B = two words # why\nC=\"in # quotes\"\nD=''\n"
        'KEY={"type": "service_account", "n": 1}\n'
    )
    assert parse_env_file(text) == {
        "A": "1",
        "B": "two words",
        "C": "in # quotes",
        "D": "",
        "KEY": '{"type": "service_account", "n": 1}',
    }


def test_a_line_that_is_not_one_is_named():
    with pytest.raises(ConfigError, match=r"Line 2 of my\.env is not NAME=value"):
        parse_env_file("A=1\nnonsense\n", name="my.env")
