"""How use is paid for: off unless set, and refused where it would lose money."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bathysphere.core.errors import ConfigError
from bathysphere.server.payments.settings import PREFIX, PaymentSettings, SatValue

GOOD = {"mint": "https://mint.example", "secret": SecretStr("s" * 32)}


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"secret": None}, "SECRET"),
        ({"secret": SecretStr("short")}, "SECRET"),
        ({"mint": "http://mint.example"}, "https"),
        ({"mint": "ftp://127.0.0.1"}, "https"),
        ({"mint": "https://user@mint.example"}, "URL of a mint"),
        ({"mint": "https://"}, "URL of a mint"),
        ({"price_step": 0}, "PRICE"),
        ({"min_lock_hours": 0.5}, "longer than the time"),
        ({"lock_hours": 1000}, "exceeds the maximum"),
        ({"rate": "0.0006"}, "RATE.*such as 0.0006 EUR"),
        ({"rate": "0.0006 eur"}, "RATE.*such as 0.0006 EUR"),
        ({"rate": "-1 EUR"}, "RATE.*such as 0.0006 EUR"),
        ({"rate": "1e3 EUR"}, "RATE.*such as 0.0006 EUR"),
        ({"rate": "0.00 EUR"}, "greater than zero"),
    ],
)
def test_settings_that_would_lose_money_are_refused(wrong, word):
    with pytest.raises(ConfigError, match=word):
        PaymentSettings.from_environment(**{**GOOD, **wrong})


def test_settings_say_what_they_are_and_hide_the_secret():
    settings = PaymentSettings.from_environment(**GOOD)
    assert (settings.is_on, settings.origin) == (True, "https://mint.example")
    assert "sss" not in repr(settings)
    assert [n for n, f in PaymentSettings.model_fields.items() if not f.description] == []


def test_a_rate_is_an_amount_and_a_currency(monkeypatch):
    assert PaymentSettings.from_environment(**GOOD).sat_value is None
    monkeypatch.setenv(f"{PREFIX}RATE", "0.0006 EUR")
    assert PaymentSettings.from_environment(**GOOD).sat_value == SatValue(
        per_sat=0.0006, currency="EUR"
    )


def test_nothing_set_means_that_nothing_is_paid(monkeypatch):
    monkeypatch.delenv(f"{PREFIX}MINT", raising=False)
    assert not PaymentSettings.from_environment().is_on


def test_a_variable_is_named_in_the_sentence_and_its_value_is_not(monkeypatch):
    monkeypatch.setenv(f"{PREFIX}PRICE_STEP", "s3cret")
    with pytest.raises(ConfigError) as refusal:
        PaymentSettings.from_environment()
    assert f"{PREFIX}PRICE_STEP" in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_every_setting_is_in_the_document():
    text = (Path(__file__).parents[3] / "docs" / "payments.md").read_text(encoding="utf-8")
    for name, field in PaymentSettings.model_fields.items():
        default = "" if field.default is None else f"{field.default:g}"
        row = f"| `{PREFIX}{name.upper()}` | {default} | {field.description} |"
        assert row.replace("|  |", "| |") in text, row
