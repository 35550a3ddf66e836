"""Profiles: which one a model has, and where that is stored."""

import json
from dataclasses import replace

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.models.profiles import (
    CALLS,
    SCHEMA,
    ModelReport,
    ProbeResult,
    choose_profile,
    load_report,
    profile_of,
    report_path,
    save_report,
)
from bathysphere.models.resolve import Models, calls_constrained, resolve
from bathysphere.models.settings import ModelSettings

NAME = "ollama:qwen3:4b/it"


def settings_in(folder, **more):
    return ModelSettings(**{"main": NAME, "folder": folder, **more})


def report(profile="lean", name=NAME):
    return ModelReport(
        model=name,
        profile=profile,
        trust="short tasks",
        probes=(ProbeResult(name="answers", state="passed", detail="Hello."),),
        tested_at="2026-11-17T20:00:00+00:00",
        tokens_per_s=12.5,
    )


def test_a_model_that_was_never_tested_has_the_full_profile_and_says_how_to_test_it(tmp_path):
    choice = choose_profile(settings_in(tmp_path))
    assert choice.profile == "full"
    assert choice.chosen_by == f"not tested: run `bathysphere models test {NAME}`"
    assert choice.trust is None


def test_a_stored_report_chooses_the_profile_of_its_model_only(tmp_path):
    settings = settings_in(tmp_path)
    save_report(report(), settings)
    assert load_report(NAME, settings) == report()
    assert choose_profile(settings) == ("lean", "tested on 2026-11-17", "short tasks")
    assert profile_of("ollama:other", settings).profile == "full"


def test_the_setting_comes_before_the_report(tmp_path):
    settings = settings_in(tmp_path, profile="full")
    save_report(report(), settings)
    choice = choose_profile(settings)
    assert choice == ("full", "BATHYSPHERE_MODEL_PROFILE", "short tasks")


def test_a_later_report_replaces_an_earlier_one_and_leaves_nothing_else(tmp_path):
    settings = settings_in(tmp_path)
    save_report(report("lean"), settings)
    path = save_report(report("full"), settings)
    assert choose_profile(settings).profile == "full"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "profile": "huge"}', "null"])
def test_a_file_that_is_not_a_report_counts_as_none(tmp_path, text):
    settings = settings_in(tmp_path)
    path = report_path(NAME, settings)
    path.parent.mkdir()
    path.write_text(text)
    assert load_report(NAME, settings) is None
    assert choose_profile(settings).profile == "full"


def test_a_report_of_another_version_counts_as_none(tmp_path):
    settings = settings_in(tmp_path)
    path = save_report(report(), settings)
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))
    assert load_report(NAME, settings) is None


def test_no_name_leaves_the_folder_and_spellings_of_a_provider_are_one(tmp_path):
    settings = settings_in(tmp_path)
    path = report_path("llamacpp:../../etc/passwd", settings)
    assert path.parent == tmp_path / "reports"
    assert "/" not in path.name
    assert report_path("lmstudio:a", settings) == report_path("lm-studio:a", settings)


def test_a_folder_that_cannot_be_written_is_an_error_with_a_hint(tmp_path):
    (tmp_path / "reports").write_text("in the way")
    with pytest.raises(ConfigError) as error:
        save_report(report(), settings_in(tmp_path))
    assert "BATHYSPHERE_MODEL_FOLDER" in error.value.hint


def test_the_models_of_the_settings_have_the_profile(tmp_path):
    settings = settings_in(tmp_path, main="demo:tour")
    assert Models.from_settings(settings).profile == "full"
    save_report(report(name="demo:tour"), settings)
    assert Models.from_settings(settings).profile == "lean"


@pytest.mark.parametrize(
    ("calls", "schema", "profile", "chosen", "is_constrained"),
    [
        ("failed", "passed", "lean", "auto", True),
        ("failed", "passed", "full", "lean", True),
        ("failed", "passed", "lean", "full", False),
        ("passed", "passed", "lean", "auto", False),
        ("failed", "failed", "lean", "auto", False),
    ],
)
def test_calls_are_constrained_if_the_report_says_that_the_model_needs_it(
    tmp_path, calls, schema, profile, chosen, is_constrained
):
    pytest.importorskip("langchain_ollama")
    settings = settings_in(tmp_path, profile=chosen)
    states = {CALLS: calls, SCHEMA: schema}
    probes = tuple(ProbeResult(name=name, state=state) for name, state in states.items())
    save_report(replace(report(profile), probes=probes), settings)
    assert calls_constrained(resolve(NAME, settings)) is is_constrained
    assert not calls_constrained(resolve("ollama:other", settings))
