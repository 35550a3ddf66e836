"""Prices of models in the operator's catalogue."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.models.downloads import downloads
from bathysphere.models.prices import price_of
from bathysphere.models.settings import ModelSettings

MODEL = "openai:gpt-5.5"


@pytest.fixture
def settings(tmp_path):
    def write(text):
        path = tmp_path / "models.toml"
        path.write_text(text, encoding="utf-8")
        return ModelSettings(catalog=path)

    return write


def test_a_price_is_per_million_tokens(settings):
    known = settings(f'[prices."{MODEL}"]\ninput = 2.5\noutput = 10\ncurrency = "EUR"\n')
    price = price_of(MODEL, known)
    assert price.cost(1_000_000, 100_000) == pytest.approx(3.5)
    assert price.currency == "EUR"
    assert price_of("openai:other", known) is None
    assert "prices" not in downloads(known)


def test_without_a_catalogue_no_price_is_known():
    assert price_of(MODEL, ModelSettings()) is None


@pytest.mark.parametrize(
    "text",
    ['"free"', "{ input = 1 }", "{ input = -1, output = 1 }", "{ input = 1, output = 1, x = 1 }"],
)
def test_a_price_that_cannot_be_read_is_an_error(settings, text):
    with pytest.raises(ConfigError, match="is not a price"):
        price_of(MODEL, settings(f'prices = {{ "{MODEL}" = {text} }}\n'))
