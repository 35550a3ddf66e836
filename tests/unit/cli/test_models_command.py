"""`bathysphere models`: what it shows, what it refuses, and what it does not import."""

import argparse
import os
import subprocess
import sys

import pytest

from bathysphere.cli import models
from bathysphere.core.errors import CallerError, ConfigError, ModelUnavailable
from bathysphere.models import download, probes, pulling
from bathysphere.models.check import Probe
from bathysphere.models.downloads import SMALLEST, downloads
from bathysphere.models.profiles import ModelReport, ProbeResult, load_report, save_report
from bathysphere.models.settings import ModelSettings


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Run the command on a machine with an Ollama server only."""
    prefixes = ("BATHYSPHERE_MODEL_", "OLLAMA_", "LM_STUDIO_", "DEEPAGENTS_", "GEMINI_")
    for name in list(os.environ):
        if name.startswith(prefixes) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(tmp_path))

    async def get(self, url, *, server, hint, headers=None):
        if server == "Ollama":
            return {"models": [{"name": "qwen3:4b"}]}
        raise ModelUnavailable(f"{server} is not reachable at {url}", hint=hint)

    monkeypatch.setattr(Probe, "get", get)

    def run(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        parser = argparse.ArgumentParser()
        models.add_arguments(parser)
        return models.run(parser.parse_args(arguments))

    return run


def test_it_shows_the_tour_what_is_here_and_how_to_leave(command, capsys, tmp_path):
    assert command(OPENAI_API_KEY="sk-secret") == 0
    shown = capsys.readouterr().out
    assert "main        demo:tour  ok  a scripted tour, not an AI (no model is set)" in shown
    assert "ollama      ollama:qwen3:4b" in shown
    assert "LM Studio is not reachable" in shown
    assert f"llamacpp    none in {tmp_path}" in shown
    assert "export BATHYSPHERE_MODEL_MAIN=openai:gpt-5.5" in shown
    assert "export BATHYSPHERE_MODEL_MAIN=ollama:qwen3:4b" in shown
    assert "sk-secret" not in shown


def test_a_model_that_cannot_be_used_is_shown_with_its_fix(command, capsys):
    command(BATHYSPHERE_MODEL_MAIN="ollama:gemma3", BATHYSPHERE_MODEL_FALLBACK="[red]:x")
    shown = capsys.readouterr().out
    assert "ollama:gemma3  no  Ollama at http://127.0.0.1:11434 has no model gemma3" in shown
    assert "fix: run `ollama pull gemma3`" in shown
    assert "fallback 1  [red]:x" in shown
    assert "To leave the tour" not in shown


def test_pull_without_a_name_fetches_the_small_model_by_its_known_hash(
    command, capsys, monkeypatch, tmp_path
):
    fetched = []
    monkeypatch.setattr(
        download, "fetch", lambda url, target, **how: fetched.append((url, target, how)) or True
    )
    assert command("pull") == 0
    (url, target, how) = fetched[0]
    entry = downloads(ModelSettings())["smollm2-135m"]
    assert (url, target, how["sha256"]) == (
        entry.url,
        tmp_path / "smollm2-135m.gguf",
        entry.sha256,
    )
    shown = capsys.readouterr().out
    assert f"Saved: {target}" in shown
    assert "export BATHYSPHERE_MODEL_MAIN=llamacpp:smollm2-135m" in shown


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--url", "http://x/a/Tiny.gguf?download=true", "--sha256", "0"], "Tiny.gguf"),
        (["mine", "--url", "http://x/a/Tiny.gguf", "--sha256", "0"], "mine.gguf"),
    ],
)
def test_pull_can_fetch_any_address_with_a_hash(command, monkeypatch, tmp_path, arguments, name):
    targets = []
    monkeypatch.setattr(download, "fetch", lambda url, target, **how: targets.append(target))
    command("pull", *arguments)
    assert targets == [tmp_path / name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unknown"], "Unknown model"),
        (["--url", "http://x/y.gguf"], "must be used together"),
        (["--sha256", "00"], "must be used together"),
        (["../evil", "--url", "http://x/y", "--sha256", "0"], "Invalid file name"),
        (["a/b", "--url", "http://x/y", "--sha256", "0"], "Invalid file name"),
        (["--url", "http://x/", "--sha256", "0"], "Invalid file name"),
        (["--url", "http://x/.gguf", "--sha256", "0"], "Invalid file name"),
        (["--url", "http://127.0.0.1:9/y", "--sha256", "00"], "Invalid SHA-256 hash"),
    ],
)
def test_a_pull_that_cannot_be_meant_is_refused(command, arguments, message):
    with pytest.raises(ConfigError, match=message) as error:
        command("pull", *arguments)
    assert error.value.hint


def test_every_file_that_can_be_downloaded_has_a_fixed_address_and_a_hash():
    known = downloads(ModelSettings())
    assert all(entry.name == name for name, entry in known.items())
    for entry in (each for each in known.values() if each.provider == "llamacpp"):
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert entry.url.startswith("https://")
        assert "/main/" not in entry.url
    assert known[SMALLEST].about == "a test of the installation, nothing more"


def test_neither_its_help_nor_its_list_needs_the_agent_stack():
    program = (
        "import argparse, asyncio, sys\n"
        "from bathysphere.cli import models\n"
        "models.add_arguments(argparse.ArgumentParser())\n"
        "import bathysphere.models.catalog\n"
        "print([m for m in sys.modules if m.startswith(('langchain', 'langgraph', 'deepagents'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# ── test ──


def stored(name, folder, profile="lean"):
    report = ModelReport(
        model=name,
        profile=profile,
        trust="short tasks",
        probes=(ProbeResult(name="answers", state="passed", detail="[red]Hello[/red]"),),
        tested_at="2026-11-17T20:00:00+00:00",
        tokens_per_s=12.5,
        first_token_s=0.5,
    )
    save_report(report, ModelSettings(folder=folder))
    return report


def test_a_model_is_shown_with_its_profile_and_how_to_test_it(command, capsys):
    command(BATHYSPHERE_MODEL_MAIN="ollama:qwen3:4b")
    shown = capsys.readouterr().out
    assert "profile     full (not tested: run `bathysphere models test ollama:qwen3:4b`)" in shown


def test_the_tour_has_no_profile(command, capsys):
    command()
    assert "  profile  " not in capsys.readouterr().out


def test_a_tested_model_is_shown_with_what_it_can_be_used_for(command, capsys, tmp_path):
    stored("ollama:qwen3:4b", tmp_path)
    command(BATHYSPHERE_MODEL_MAIN="ollama:qwen3:4b")
    assert "profile     lean (tested on 2026-11-17); use it for short tasks" in (
        capsys.readouterr().out
    )


def test_the_result_is_printed_stored_and_not_read_as_markup(
    command, capsys, monkeypatch, tmp_path
):
    report = stored("ollama:qwen3:4b", tmp_path / "elsewhere")

    async def probe_model(name, model, *, clock, progress):
        progress(1, 12, "follows an instruction")
        return report

    monkeypatch.setattr(probes, "probe_model", probe_model)
    assert command("test", BATHYSPHERE_MODEL_MAIN="ollama:qwen3:4b") == 0
    shown = capsys.readouterr().out
    assert "passed   answers  [red]Hello[/red]" in shown
    assert "Speed:   12.5 tokens/s, the first after 0.5 s" in shown
    assert "Profile: lean\nUse it for: short tasks\n" in shown
    assert load_report("ollama:qwen3:4b", ModelSettings(folder=tmp_path)) == report


def test_the_tour_cannot_be_tested(command):
    with pytest.raises(CallerError, match="demo:tour is a script, not a model"):
        command("test")


# ── pull by other programs, and the catalogue ──


def test_a_model_of_ollama_is_pulled_by_ollama(command, capsys, monkeypatch):
    pulled = []

    async def pull(name, settings, *, progress):
        progress(1, 2)
        pulled.append(str(name))

    monkeypatch.setattr(pulling, "pull", pull)
    assert command("pull", "ollama:qwen3:4b") == 0
    assert command("pull", "lmstudio:google/gemma") == 0
    assert pulled == ["ollama:qwen3:4b", "lm-studio:google/gemma"]
    shown = capsys.readouterr().out
    assert "Pulled: ollama:qwen3:4b" in shown
    assert "export BATHYSPHERE_MODEL_MAIN=ollama:qwen3:4b" in shown
    assert "bathysphere models test ollama:qwen3:4b" in shown


def test_a_model_of_the_operators_catalogue_is_listed_and_pulled_by_its_name(
    command, capsys, monkeypatch, tmp_path
):
    path = tmp_path / "catalog.toml"
    path.write_text('["qwen3:4b"]\nprovider = "ollama"\nsize = 2600000000\nlicence = "Apache-2.0"')
    pulled = []

    async def pull(name, settings, *, progress):
        pulled.append(str(name))

    monkeypatch.setattr(pulling, "pull", pull)
    command(BATHYSPHERE_MODEL_CATALOG=str(path))
    assert "ollama:qwen3:4b  2,600 MB, Apache-2.0" in capsys.readouterr().out
    command("pull", "qwen3:4b")
    assert pulled == ["ollama:qwen3:4b"]


def test_the_small_model_is_listed_as_what_it_is(command, capsys):
    command()
    line = "llamacpp:smollm2-135m  98 MB, Apache-2.0; a test of the installation, nothing more"
    assert line in capsys.readouterr().out


def test_the_small_model_is_not_offered_as_a_way_out_of_the_tour(
    command, capsys, monkeypatch, tmp_path
):
    (tmp_path / "smollm2-135m.gguf").write_bytes(b"GGUF")

    async def none(self, url, *, server, hint, headers=None):
        raise ModelUnavailable(f"{server} is not reachable", hint=hint)

    monkeypatch.setattr(Probe, "get", none)
    command()
    shown = capsys.readouterr().out
    assert "MODEL_MAIN=llamacpp:smollm2-135m" not in shown
    assert "bathysphere models pull ollama:NAME" in shown
