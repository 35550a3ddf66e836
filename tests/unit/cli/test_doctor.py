"""`bathysphere doctor`: what it finds, and when that is a failure."""

import importlib.metadata
import socket
import threading

import pytest

from bathysphere.cli import doctor
from bathysphere.cli.main import main
from bathysphere.models.settings import ModelSettings

VARIABLES = (
    "BATHYSPHERE_MODEL_MAIN",
    "BATHYSPHERE_DATABASE_URL",
    "BATHYSPHERE_REDIS_URL",
    "DEEPAGENTS_MODEL_PROVIDER",
    "OLLAMA_MODEL_NAME",
    "LM_STUDIO_MODEL_NAME",
    "ANTHROPIC_API_KEY",
    "GCS_BUCKET_NAME",
    "GOOGLE_CLOUD_CREDENTIALS_JSON",
    "GOOGLE_CSE_API_KEY",
    "GOOGLE_CSE_CX",
    "TAVILY_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "BATHYSPHERE_STORAGE_KIND",
    "BATHYSPHERE_SEARCH_ENGINE",
    "BATHYSPHERE_SIMPLE_WEB",
    "BATHYSPHERE_RESEARCH_SIGNING_KEY",
    "BATHYSPHERE_PAYMENTS_MINT",
    "BATHYSPHERE_PAYMENTS_SECRET",
)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def findings(look):
    return {finding.what: finding for finding in look()}


def test_a_fresh_machine_is_in_order(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "ok       main: demo:tour" in shown
    assert "info     PostgreSQL: not configured" in shown
    assert "problem" not in shown


def test_a_configured_model_that_cannot_be_used_is_a_problem(monkeypatch, capsys):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "anthropic:claude-sonnet-4-6")
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert shown.count("problem  ") == 1  # the other roles have the same model
    assert "fix: set ANTHROPIC_API_KEY" in shown


def test_a_role_without_a_model_of_its_own_has_no_row_however_that_is_worded(monkeypatch):
    choice = ModelSettings.choice
    monkeypatch.setattr(
        ModelSettings, "choice", lambda *at: choice(*at)._replace(chosen_by="other words")
    )
    assert [row for row in findings(doctor._models) if ": " in row] == [
        "main: demo:tour (a scripted tour, not an AI)"
    ]


def test_the_profile_of_the_model_is_said_and_why(monkeypatch, tmp_path):
    monkeypatch.setenv("BATHYSPHERE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "llamacpp:small")
    untested = "profile: full (not tested: run `bathysphere models test llamacpp:small`)"
    assert findings(doctor._models)[untested].state == "info"
    monkeypatch.setenv("BATHYSPHERE_MODEL_PROFILE", "lean")
    assert "profile: lean (BATHYSPHERE_MODEL_PROFILE)" in findings(doctor._models)


def test_settings_that_cannot_be_read_are_a_problem(monkeypatch, capsys):
    monkeypatch.setenv("BATHYSPHERE_MODEL_RETRIES", "many")
    assert main(["doctor"]) == 1
    assert "Invalid BATHYSPHERE_MODEL_RETRIES" in capsys.readouterr().out


def test_services_that_do_not_answer_are_problems_and_no_password_is_shown(monkeypatch, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("BATHYSPHERE_DATABASE_URL", f"postgresql://me:hush@127.0.0.1:{port}/x")
    monkeypatch.setenv("BATHYSPHERE_REDIS_URL", f"redis://:hush@127.0.0.1:{port}")
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "problem  PostgreSQL: " in shown
    assert "problem  Redis: " in shown
    assert "fix: start it, or correct BATHYSPHERE_REDIS_URL" in shown
    assert "hush" not in shown


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (b"+PONG\r\n", "ok"),
        (b"-NOAUTH Authentication required.\r\n", "ok"),
        (b"HTTP/1.1", "problem"),
    ],
)
def test_what_answers_must_be_redis(monkeypatch, answer, state):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(64)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        monkeypatch.setenv("BATHYSPHERE_REDIS_URL", f"redis://127.0.0.1:{port}")
        _, redis = doctor._services()
        thread.join()
    assert redis.state == state


def test_another_version_of_the_stack_is_a_problem_with_its_fix(monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "9.9" if name == "langgraph" else real(name)
    )
    (finding,) = [f for f in doctor._packages() if f.state == "problem"]
    assert finding.what.startswith("langgraph 9.9 is installed, but ")
    assert finding.fix.startswith('pip install "langgraph==')


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "_is_installed", lambda name: name != "langchain-ollama")
    missing = [finding for finding in doctor._extras() if finding.state == "missing"]
    assert [(m.what, m.fix) for m in missing] == [
        (
            "ollama (missing langchain-ollama)",
            'if you need it: pip install "bathysphere[ollama]"',
        )
    ]


DEPLOYED = {
    "BATHYSPHERE_STORAGE_KIND": "memory",
    "GOOGLE_CSE_API_KEY": "hush-google",
    "GOOGLE_CSE_CX": "cx",
    "BATHYSPHERE_SIMPLE_WEB": "ask",
    "BATHYSPHERE_RESEARCH_SIGNING_KEY": "ab" * 32,
    "BATHYSPHERE_PAYMENTS_MINT": "https://mint.example",
    "BATHYSPHERE_PAYMENTS_SECRET": "hush-" + "s" * 32,
}


def test_storage_search_web_research_key_and_payments_have_a_row_each_where_nothing_is_set(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for row in (
        "info     storage: none",
        "ok       search: duckduckgo",
        "info     web: `simple` has no tools for it",
        "info     research key: not set",
        "info     payments: off",
    ):
        assert row in shown


def test_what_is_set_up_is_told_without_its_secrets(monkeypatch, capsys):
    for name, value in DEPLOYED.items():
        monkeypatch.setenv(name, value)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for row in (
        "ok       storage: memory, one workspace `main` each",
        "ok       search: google_cse",
        "ok       web: `simple` searches and reads pages after approval",
        "ok       research key: BATHYSPHERE_RESEARCH_SIGNING_KEY is set",
        "ok       payments: at https://mint.example",
    ):
        assert row in shown
    assert "hush" not in shown
    assert "abab" not in shown


@pytest.mark.parametrize(
    ("variable", "value", "row"),
    [
        ("BATHYSPHERE_STORAGE_KIND", "tape", "problem  storage: Invalid BATHYSPHERE_STORAGE_KIND"),
        ("BATHYSPHERE_STORAGE_KIND", "gcs", "problem  storage: The bucket has no name"),
        (
            "BATHYSPHERE_SEARCH_ENGINE",
            "nonsense",
            "problem  search: Invalid BATHYSPHERE",
        ),
        ("BATHYSPHERE_RESEARCH_CORPUS", "nowhere", "problem  search: Folder not found: nowhere"),
        ("BATHYSPHERE_SEARCH_ENGINE", "searxng", "problem  search: SearXNG is not configured"),
        ("BATHYSPHERE_SEARCH_ENGINE", "tavily", "problem  search: Tavily search is not configured"),
        ("BATHYSPHERE_SEARCH_ENGINE", "brave", "problem  search: Brave search is not configured"),
        ("BATHYSPHERE_SIMPLE_WEB", "yes", "problem  web: Invalid BATHYSPHERE_SIMPLE_WEB: "),
        ("TAVILY_API_KEY", "hush hush", "problem  search: Invalid TAVILY_API_KEY: must be"),
        (
            "BATHYSPHERE_RESEARCH_SIGNING_KEY",
            "abc",
            "problem  research key: Invalid",
        ),
        ("BATHYSPHERE_PAYMENTS_MINT", "https://mint.example", "problem  payments: Payments need"),
    ],
)
def test_a_part_that_is_set_up_wrongly_is_a_problem_of_its_row(
    monkeypatch, capsys, variable, value, row
):
    monkeypatch.setenv(variable, value)
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert row in shown
    assert "hush" not in shown
    assert "payments: " in shown  # the rows after it are still there


@pytest.mark.parametrize(
    ("variable", "engine"), [("TAVILY_API_KEY", "tavily"), ("BRAVE_SEARCH_API_KEY", "brave")]
)
def test_the_key_of_a_search_engine_chooses_it_and_is_not_shown(
    monkeypatch, capsys, variable, engine
):
    monkeypatch.setenv(variable, "hush-key")
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert f"ok       search: {engine}" in shown
    assert "hush" not in shown


def test_several_processes_without_one_research_key_are_told(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_DATABASE_URL", "postgresql://127.0.0.1:1/x")
    key = doctor._research_key()
    assert (key.state, "BATHYSPHERE_RESEARCH_SIGNING_KEY" in key.fix) == ("missing", True)
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_SIGNING_KEY_FILE", "/data/key")
    assert doctor._research_key().state == "ok"
