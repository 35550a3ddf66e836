"""A plain install: what goes wrong at the command line is one sentence and a hint, never a bug."""

import re
import socket
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

pytestmark = [pytest.mark.first_minute, pytest.mark.timeout(400)]

NOWHERE = "postgresql://127.0.0.1:1/x"
NO_REDIS = "redis://127.0.0.1:1/0"
MINT = {
    "BATHYSPHERE_PAYMENTS_MINT": "http://127.0.0.1:3338",
    "BATHYSPHERE_PAYMENTS_SECRET": "s" * 32,
}

MISTAKES = [
    (("chat", "--model", "openai:gpt-5", "--message", "hi"), {}, "bathysphere[openai]"),
    (("research", "How deep?", "--model", "openai:gpt-5"), {}, "bathysphere[openai]"),
    (("serve",), MINT, "bathysphere[payments]"),
    (("serve",), {"GCS_BUCKET_NAME": "our-bucket"}, "bathysphere[storage]"),
    (("chat", "tutor", "--files", "nowhere", "--message", "hi"), {}, "--files"),
    (("research", "How deep?", "--corpus", "nowhere"), {}, "choose a folder with documents"),
    (("serve",), {"BATHYSPHERE_RESEARCH_POLICY_FILE": "nowhere"}, "POLICY_FILE"),
    (("verify", "essay.md"), {}, ".zip"),
    (("serve", "--data-dir", "essay.md"), {}, "--data-dir"),
    (("chta",), {}, "bathysphere chat"),
    (("chat", "tutro"), {}, "tutor"),
    (("research", "How deep?", "--model", "nonsense"), {}, "provider:name"),
    (("agents", "tutro"), {}, "tutor"),
    (("serve", "--auth", "nonsense"), {}, "BATHYSPHERE_AUTH"),
    (("serve", "--database-url", NOWHERE), {}, "--database-url"),
    (("worker",), {}, "--database-url"),
]
MORE_MISTAKES = [
    (("chat", "--model", "ollama:qwen3", "--message", "hi"), {}, "bathysphere[ollama]"),
    (("chat", "--model", "llamacpp:x.gguf", "--message", "hi"), {}, "bathysphere[local]"),
    (
        ("research", "How deep did the bathysphere go?", "--approve", "all", "--out", "r.pdf"),
        {},
        "bathysphere[research]",
    ),
    (("payments", "sweep"), MINT, "bathysphere[payments]"),
    (
        ("serve",),
        {"BATHYSPHERE_STORAGE_KIND": "memory"},
        "bathysphere[storage]",
    ),
    (("serve",), {"BATHYSPHERE_OTEL_ENDPOINT": "http://127.0.0.1:4318"}, "bathysphere[otel]"),
    (("serve",), {"BATHYSPHERE_PUSH_CONTACT": "mailto:me@site.example"}, "bathysphere[push]"),
    (("research", "How deep?", "--policy", "nowhere"), {}, "BATHYSPHERE_RESEARCH_POLICY_FILE"),
    (("research", "How deep?", "--policy", "essay.md"), {}, "toml policy"),
    (("research", "How deep?", "--out", "r.odt"), {}, ".zip"),
    (("chat", "tutor", "--files", "essay.md", "--message", "hi"), {}, "--files"),
    (
        ("serve",),
        {
            "BATHYSPHERE_STORAGE_KIND": "local",
            "BATHYSPHERE_STORAGE_FOLDER": "bucket",
            "BATHYSPHERE_STORAGE_TENANTS": "nowhere.toml",
        },
        "BATHYSPHERE_STORAGE_TENANTS",
    ),
    (("verify", "nowhere.zip"), {}, ".zip"),
    (("verify", "."), {}, ".zip"),
    (("verify", "--page", "nowhere/page.html"), {}, "path"),
    (("keys", "--data-dir", "essay.md", "list"), {}, "--data-dir"),
    (("chat", "--model", "nonsense", "--message", "hi"), {}, "provider:name"),
    (("research", "How deep?"), {"BATHYSPHERE_SEARCH_ENGINE": "nonsense"}, "_SEARCH_ENGINE"),
    (("models", "pull", "nonsense"), {}, "smollm2"),
    (("serve",), {"BATHYSPHERE_STORAGE_KIND": "nonsense"}, "BATHYSPHERE_STORAGE_KIND"),
    (("serve", "--database-url", "nonsense"), {}, "postgresql://"),
    (("migrate",), {}, "--database-url"),
    (("migrate", "--database-url", NOWHERE), {}, "--database-url"),
    (("keys", "--database-url", NOWHERE, "list"), {}, "--database-url"),
    (("payments", "--database-url", NOWHERE, "audit"), {}, "--database-url"),
    (("worker", "--database-url", NOWHERE, "--redis-url", NO_REDIS), {}, "--database-url"),
]
"""Others of the same kinds, which are made every night."""
ALL_MISTAKES = [*MISTAKES, *MORE_MISTAKES]
OTHERS = pytest.mark.long(
    "tests/e2e/test_plain_install.py::test_a_mistake_is_one_sentence_and_a_hint"
)


@pytest.fixture(scope="module")
def outcomes(request, plain_install, tmp_path_factory):
    """What each mistake of this run comes to; four at a time, since most of each is start-up."""
    numbers = {
        test.callspec.params["number"]
        for test in request.session.items
        if test.originalname == "test_a_mistake_is_one_sentence_and_a_hint"
    }

    def make(mistake):
        words, variables, _ = mistake
        folder = tmp_path_factory.mktemp("mistake")
        (folder / "essay.md").write_text("# An essay\n")
        return plain_install.run(*words, cwd=folder, **variables)

    with ThreadPoolExecutor(4) as pool:
        yield {number: pool.submit(make, ALL_MISTAKES[number]) for number in sorted(numbers)}
        pool.shutdown(cancel_futures=True)


def _numbered():
    for number, (words, _, _) in enumerate(ALL_MISTAKES):
        is_in_check = number < len(MISTAKES)
        yield pytest.param(number, id=" ".join(words), marks=() if is_in_check else OTHERS)


@pytest.mark.parametrize("number", list(_numbered()))
def test_a_mistake_is_one_sentence_and_a_hint(outcomes, number):
    done, hint = outcomes[number].result(), ALL_MISTAKES[number][2]
    assert done.returncode in (1, 2), done.stderr
    said = done.stderr.splitlines()
    [error] = [line for line in said if line.startswith("error: ")]
    [advice] = [line for line in said if line.startswith("hint: ")]
    assert error.removeprefix("error: ").strip()
    assert hint in advice, done.stderr
    for word in ("Traceback", "this is a bug", "ModuleNotFoundError"):
        assert word not in done.stderr


@contextmanager
def used_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield str(taken.getsockname()[1])


def test_a_port_in_use_is_one_sentence_and_a_hint(plain_install, tmp_path):
    with used_port() as port:
        done = plain_install.run("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 1
    assert f"port {port}: Address already in use" in done.stderr
    assert "hint: choose another port with --port" in done.stderr


def test_a_metrics_port_in_use_is_one_sentence_and_a_hint(plain_install, tmp_path):
    with used_port() as port:
        done = plain_install.run("serve", "--metrics-port", port, cwd=tmp_path)
    assert done.returncode == 1
    assert f"port {port}: Address already in use" in done.stderr
    assert "hint: choose another port with --metrics-port" in done.stderr


CONFIGURED_WRONGLY = {
    "a missing extra": [
        ({"BATHYSPHERE_MODEL_MAIN": "openai:gpt-5"}, "main: ", "bathysphere[openai]"),
        ({"BATHYSPHERE_MODEL_AUDIT": "llamacpp:nowhere"}, "audit: ", "bathysphere[local]"),
        ({"GCS_BUCKET_NAME": "our-bucket"}, "storage: ", "bathysphere[storage]"),
        (MINT, "payments: ", "bathysphere[payments]"),
    ],
    "something that is not there": [
        ({"BATHYSPHERE_RESEARCH_CORPUS": "nowhere"}, "search: ", "choose a folder with documents"),
        ({"BATHYSPHERE_REDIS_URL": NO_REDIS}, "Redis: ", "BATHYSPHERE_REDIS_URL"),
    ],
    "an unknown name": [
        ({"BATHYSPHERE_MODEL_MAIN": "nonsense"}, "main: ", "provider:name"),
        ({"BATHYSPHERE_STORAGE_KIND": "nonsense"}, "storage: ", "BATHYSPHERE_STORAGE_KIND"),
        ({"BATHYSPHERE_SEARCH_ENGINE": "nonsense"}, "search: ", "BATHYSPHERE_SEARCH_ENGINE"),
    ],
}


@pytest.mark.parametrize("kind", CONFIGURED_WRONGLY)
def test_doctor_tells_each_mistake_in_its_row_with_the_fix(plain_install, tmp_path, kind):
    mistakes = CONFIGURED_WRONGLY[kind]
    variables = {name: value for given, _, _ in mistakes for name, value in given.items()}
    done = plain_install.run("doctor", cwd=tmp_path, **variables)
    assert done.returncode == 1, done.stdout
    lines = done.stdout.splitlines()
    for _, row, fix in mistakes:
        [place] = [at for at, line in enumerate(lines) if line.startswith(f"  problem  {row}")]
        assert lines[place + 1].strip().startswith("fix: ")
        assert fix in lines[place + 1]
    for word in ("Traceback", "this is a bug", "ModuleNotFoundError"):
        assert word not in done.stdout + done.stderr


def test_doctor_finds_nothing_broken_in_a_plain_install(plain_install, tmp_path):
    done = plain_install.run("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert 'pip install "bathysphere[research]"' in done.stdout


def test_the_sample_research_can_be_verified_by_a_plain_install(plain_install, tmp_path):
    question = "How deep did the bathysphere go?"
    words = ("research", question, "--approve", "all", "--out", "report.zip")
    done = plain_install.run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    checked = plain_install.run("verify", "report.zip", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


# ── what a package index shows ──

REPOSITORY = "https://forge.example/acme/sphere"


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_a_release_names_the_project_where_it_was_built(plain_install):
    metadata = metadata_of(plain_install.wheel)
    at_tag = f"{REPOSITORY}/blob/v{metadata['Version']}"
    assert metadata.get_all("Project-URL") == [
        f"Source, {REPOSITORY}",
        f"Documentation, {at_tag}/docs/README.md",
        f"Changelog, {at_tag}/CHANGELOG.md",
        f"Issues, {REPOSITORY}/issues",
    ]


def test_links_and_pictures_of_the_readme_work_outside_the_repository(plain_install):
    metadata = metadata_of(plain_install.wheel)
    text = metadata.get_payload(decode=True).decode()
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    [picture, *_] = re.findall(r"!\[[^\]]*\]\((\S+)\)", text)
    assert picture.startswith(f"{REPOSITORY}/raw/v{metadata['Version']}/docs/")
