"""What `bathysphere serve` says before it is ready."""

import subprocess
import sys

import pytest

from bathysphere.cli.serve import warn_about_models
from bathysphere.models.settings import ModelSettings

LATER = {
    "PIL",
    "anthropic",
    "inspect_ai",
    "langchain_anthropic",
    "langchain_ollama",
    "langchain_openai",
    "mcp",
    "mkdocs",
    "numpy",
    "obstore",
    "openai",
    "pandas",
    "tiktoken",
    "transformers",
    "xllamacpp",
}
"""What a server loads when something needs it."""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_model_without_its_key_is_warned_about_at_the_start_once(capsys):
    warn_about_models(ModelSettings(main="openai:gpt-5"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "warning: Model unavailable: openai:gpt-5 needs an API key (OPENAI_API_KEY)",
        "hint: set OPENAI_API_KEY, or choose another model (`bathysphere models`)",
    ]


def test_models_that_can_answer_are_not_spoken_of(capsys):
    warn_about_models(ModelSettings(main="openai:gpt-5", openai_api_key="sk-test"))
    warn_about_models(ModelSettings())
    assert capsys.readouterr().err == ""


def test_a_server_that_starts_loads_no_client_of_a_model_and_no_reader_of_files(tmp_path):
    code = (
        "import sys\nfrom bathysphere.cli import main, serve\n"
        "serve.run_loop = lambda server: server.close()\n"
        "assert main.main(['serve', '--port', '0', '--data-dir', sys.argv[1]]) == 0\n"
        "print('loaded', *sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.rpartition("loaded")[2].split()
    assert "bathysphere.server.app" in loaded
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(LATER)
