"""`bathysphere new`: the project that it writes is complete, tidy and works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bathysphere import __version__
from bathysphere.cli import new
from bathysphere.cli.main import main
from bathysphere.core.env_file import parse_env_file
from bathysphere.registry.langgraph_json import read_project
from bathysphere.registry.loading import load_agents
from bathysphere.registry.selection import Selection

BIN = Path(sys.executable).parent


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_it_writes_a_project_and_says_what_comes_next(folder, capsys):
    assert main(["new", "my-helper"]) == 0
    said = "Created my-helper/ with the agent my-helper.\nNext: cd my-helper && bathysphere dev\n"
    assert capsys.readouterr().out == said
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    places = {each.replace("{{name}}", "my-helper") for each in new.FILES}
    assert written == {f"my-helper/{each.replace('{{module}}', 'my_helper')}" for each in places}
    assert [path for path in folder.rglob("*") if path.is_file() and "{{" in path.read_text()] == []


def test_every_template_is_used():
    templates = Path(new.__file__).parent / "project"
    assert {path.name.removesuffix(".tmpl") for path in templates.iterdir()} == set(
        new.FILES.values()
    )


def test_its_agent_loads_as_langgraph_json_says(folder):
    new.write_project(folder / "x", name="x")
    project = read_project(folder / "x/langgraph.json")
    [agent] = load_agents(Selection(projects=(project,)), is_only=True).values()
    assert (agent.name, agent.description) == ("x", "Answers questions and counts words")
    assert json.loads((folder / "x/langgraph.json").read_text())["env"] == ".env"
    assert parse_env_file((folder / "x/.env.example").read_text()) == {}
    assert f"=={__version__}" in (folder / "x/requirements.txt").read_text()


def test_its_tests_pass_and_its_code_is_tidy(folder):
    new.write_project(folder / "x", name="x")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=folder / "x", capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout
    for words in (
        ["check", "--isolated"],
        ["format", "--isolated", "--check", "--line-length=100"],
    ):
        subprocess.run([BIN / "ruff", *words, folder / "x"], check=True, capture_output=True)


def test_its_container_file_is_well_formed_and_asks_for_a_key(folder):
    new.write_project(folder / "x", name="x")
    file = folder / "x/Containerfile"
    done = subprocess.run([BIN / "hadolint", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "BATHYSPHERE_AUTH=api-key" in file.read_text()
    assert ".env\n" in (folder / "x/.containerignore").read_text()
    assert ".env\n" in (folder / "x/.gitignore").read_text()


def test_an_empty_folder_is_filled(folder):
    (folder / "x").mkdir()
    assert main(["new", "x"]) == 0


@pytest.mark.parametrize("name", ["", "1st", "a b", "../x", "x/y", "-x", "é", "x" * 51, "a.b"])
def test_a_name_that_does_not_fit_is_refused(folder, name):
    with pytest.raises(new.CallerError, match="Invalid name"):
        new.write_project(folder / "other", name=name)
    assert list(folder.iterdir()) == []


def test_the_name_of_an_installed_agent_is_refused(folder, capsys):
    assert main(["new", "simple"]) == 1
    assert "error: 'simple' is the name of an installed agent" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("is_file", [True, False])
def test_nothing_is_overwritten(folder, is_file, capsys):
    if is_file:
        (folder / "x").write_text("mine")
    else:
        (folder / "x").mkdir()
        (folder / "x/README.md").write_text("mine")
    before = {path: path.is_file() and path.read_text() for path in folder.rglob("*")}
    assert main(["new", "x"]) == 1
    assert "error: x exists and is not an empty folder\nhint: " in capsys.readouterr().err
    assert {path: path.is_file() and path.read_text() for path in folder.rglob("*")} == before
