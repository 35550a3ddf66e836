"""Every optional module leads to the extra that installs it."""

import re
import tomllib
from pathlib import Path

import pytest

from bathysphere.core.extras import EXTRA_BY_MODULE, explain_missing_module

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {
    "opentelemetry.exporter": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.sdk": "opentelemetry-sdk",
}


def named(lines):
    return {re.match(r"[\w.-]+", line).group() for line in lines}


def test_the_table_and_the_extras_name_the_same_packages():
    extras = {k: v for k, v in PROJECT["optional-dependencies"].items() if k != "all"}
    known = {
        DISTRIBUTIONS.get(module, module.replace("_", "-")): extra
        for module, extra in EXTRA_BY_MODULE.items()
    }
    assert known.keys() == set().union(*map(named, extras.values()))
    for distribution, extra in known.items():
        assert distribution in named(extras[extra])


@pytest.mark.parametrize("module", ["coincurve", "coincurve.keys"])
def test_a_missing_optional_module_names_its_extra(module):
    error = explain_missing_module(module, "`bathysphere serve`")
    assert error.message == "`bathysphere serve` needs an optional dependency"
    assert error.hint == 'pip install "bathysphere[payments]"'


def test_a_missing_module_of_the_plain_install_says_that_it_is_incomplete():
    error = explain_missing_module("psycopg.rows", "`bathysphere serve`")
    assert "'psycopg' is missing" in error.message
    assert "pip install" in error.hint
