"""The model cards: which model answers, and whether words stay on this machine."""

import pytest

from bathysphere.models.profiles import ModelReport, save_report
from bathysphere.models.settings import ModelSettings
from bathysphere.server.models.catalog import list_cards


async def main_card(**settings):
    cards = await list_cards(ModelSettings.model_construct(**settings))
    assert [card.role for card in cards] == ["main", "subagent", "summary", "audit"]
    return cards[0]


async def test_the_tour_is_a_script_and_local():
    card = await main_card()
    assert (card.name, card.is_demo, card.is_local, card.is_usable) == (
        "demo:tour",
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("name", "settings", "is_local"),
    [
        ("openai:gpt-5", {}, False),
        ("openai:gpt-5", {"openai_url": "http://127.0.0.1:9/v1"}, True),
        ("anthropic:claude", {"anthropic_url": "https://models.example"}, False),
        ("ollama:qwen3", {"ollama_url": "http://localhost:1"}, True),
        ("ollama:qwen3", {"ollama_url": "http://10.0.0.7:11434"}, False),
        ("llamacpp:small", {}, True),
    ],
)
async def test_a_model_is_local_where_its_server_is(name, settings, is_local):
    card = await main_card(main=name, check_timeout_s=0.2, **settings)
    assert card.is_local is is_local


async def test_a_model_that_cannot_be_used_says_what_to_do():
    card = await main_card(main="nonsense")
    assert not card.is_usable
    assert card.hint


async def test_a_card_says_the_profile_and_what_the_model_can_be_trusted_with(tmp_path):
    name = "llamacpp:small"
    card = await main_card(main=name, folder=tmp_path)
    assert (card.profile, card.trust) == ("full", None)
    report = ModelReport(
        model=name, profile="lean", trust="short tasks", probes=(), tested_at="2026-11-17"
    )
    save_report(report, ModelSettings.model_construct(folder=tmp_path))
    card = await main_card(main=name, folder=tmp_path)
    assert (card.json()["profile"], card.json()["trust"]) == ("lean", "short tasks")
