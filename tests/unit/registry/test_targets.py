"""Targets of a command line, and the files of a project as modules."""

import sys
from pathlib import Path

import pytest

import bathysphere.graphs
from bathysphere.registry.errors import LoadError
from bathysphere.registry.modules import add_to_import_path, import_target
from bathysphere.registry.targets import (
    AttributeTarget,
    ConfigTarget,
    FolderTarget,
    parse_target,
)


@pytest.fixture(autouse=True)
def _imports_as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, place: str, text: str) -> Path:
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_module_and_an_attribute(tmp_path):
    target = parse_target("my.agents:helper.graph", folder=tmp_path)
    assert isinstance(target, AttributeTarget)
    assert (target.module, target.file) == ("my.agents", None)
    assert (target.attribute, target.name) == ("helper.graph", None)


@pytest.mark.parametrize(
    "text", ["agents.py:graph", "./agents.py:graph", "deep/../agents.py:graph"]
)
def test_a_file_and_an_attribute(tmp_path, text):
    (tmp_path / "deep").mkdir()
    file = write(tmp_path, "agents.py", "")
    target = parse_target(text, folder=tmp_path)
    assert isinstance(target, AttributeTarget)
    assert (target.module, target.file, target.attribute) == (None, file, "graph")


def test_a_name_in_front_of_a_target_is_the_agents(tmp_path):
    target = parse_target("helper=my.agents:graph", folder=tmp_path)
    assert (target.name, target.module, target.text) == ("helper", "my.agents", "my.agents:graph")


@pytest.mark.parametrize("text", ["langgraph.json", "./langgraph.json", ".", "../project.v2"])
def test_a_config_file_or_its_folder(tmp_path, text):
    file = write(tmp_path, "project.v2/langgraph.json", "{}")
    assert parse_target(text, folder=tmp_path / "project.v2") == ConfigTarget(file=file)


@pytest.mark.parametrize(
    "text", ["agents/helper", "./agents/helper/", "agents/helper/agent.toml", "other=agents/helper"]
)
def test_a_folder_with_an_agent_file(tmp_path, text):
    write(tmp_path, "agents/helper/agent.toml", "name = 'first mate'\ndescription = 'Helps'")
    target = parse_target(text, folder=tmp_path)
    assert isinstance(target, FolderTarget)
    assert target.folder == tmp_path / "agents/helper"
    assert target.listed_name == ("other" if "=" in text else "first mate")
    assert target.listed_description == "Helps"
    assert target.label("prompt.md") == "agents/helper/prompt.md"


@pytest.mark.parametrize("written", ["", "name = 5", "name = "])
def test_without_a_usable_name_an_agent_has_that_of_its_folder(tmp_path, written):
    write(tmp_path, "helper/agent.toml", written)
    assert parse_target("helper", folder=tmp_path).listed_name == "helper"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agents", "Not a target: agents"),
        ("my.agents:", "Not a target"),
        (":graph", "Not a target"),
        ("my.agents:1graph", "Not a target"),
        ("my-agents:graph", "Not a module: my-agents"),
        ("agents.py:graph", "File not found"),
        ("other.json", "File not found"),
        ("folder", "No agent.toml or langgraph.json in the folder folder"),
        ("agents.ts:graph", "Not a Python file: agents.ts"),
        ("a/b=my.agents:graph", "Invalid agent name 'a/b'"),
        ("=my.agents:graph", "Invalid agent name ''"),
    ],
)
def test_what_is_not_a_target_is_named(tmp_path, text, problem):
    (tmp_path / "folder").mkdir()
    with pytest.raises(LoadError, match=problem.replace(".", r"\.")) as refused:
        parse_target(text, folder=tmp_path)
    assert refused.value.code == "load_error"
    assert refused.value.hint


@pytest.mark.parametrize(
    "text", ["bathysphere.graphs:simple", f"{bathysphere.graphs.__file__}:simple"]
)
def test_our_own_graphs_are_recognized(tmp_path, text):
    assert parse_target(text, folder=tmp_path).is_built_in


def load(folder: Path, text: str):
    return import_target(parse_target(text, folder=folder))


def test_a_file_of_a_package_may_use_relative_imports_and_exists_once(tmp_path):
    write(tmp_path, "src/shop_a/__init__.py", "")
    write(tmp_path, "src/shop_a/words.py", "WORD = object()")
    write(tmp_path, "src/shop_a/agents.py", "from .words import WORD")
    add_to_import_path([tmp_path / "src"])
    assert load(tmp_path, "./src/shop_a/agents.py:WORD") is load(tmp_path, "shop_a.words:WORD")


def test_a_file_outside_the_import_path_has_the_same_name_wherever_the_project_is(tmp_path):
    names = []
    for place in ("here", "there"):
        write(tmp_path, f"{place}/parts/agents-b.py", "class Note: ...")
        names.append(load(tmp_path / place, "parts/agents-b.py:Note").__module__)
        sys.modules.pop(names[-1])
    assert names == ["target_parts_agents_b"] * 2


def test_two_files_that_would_be_the_same_module_are_refused(tmp_path):
    write(tmp_path, "here/tools.py", "word = 'here'")
    write(tmp_path, "there/tools.py", "word = 'there'")
    (tmp_path / "project").mkdir()
    assert load(tmp_path / "project", "../here/tools.py:word") == "here"
    with pytest.raises(LoadError, match="would be the same module"):
        load(tmp_path / "project", "../there/tools.py:word")


def test_a_file_named_like_a_module_of_python_is_still_the_file(tmp_path):
    write(tmp_path, "json.py", "graph = 'mine'")
    assert load(tmp_path, "./json.py:graph") == "mine"


def test_the_projects_folder_is_importable(tmp_path):
    write(tmp_path, "helper_c.py", "word = 'found'")
    write(tmp_path, "agents_c.py", "from helper_c import word")
    assert load(tmp_path, "agents_c.py:word") == "found"


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("import shop_that_is_not_there", "No module named 'shop_that_is_not_there'", "install"),
        ("x = 1\ny = x / 0", "ZeroDivisionError: division by zero (", "correct the code"),
        ("def broken(:", "SyntaxError", "correct the code"),
        ("raise SystemExit('no key')", "SystemExit: no key", "correct the code"),
        ("grapf = 1", "there is no 'graph'", "did you mean 'grapf'?"),
    ],
)
def test_code_that_fails_is_named_with_its_line(tmp_path, text, problem, hint):
    file = write(tmp_path, "agents_d.py", text)
    with pytest.raises(LoadError) as failed:
        load(tmp_path, "agents_d.py:graph")
    assert "Cannot load agents_d.py:graph: " in failed.value.message
    assert problem in failed.value.message
    assert hint in failed.value.hint
    if "/ 0" in text:
        assert f"({file}, line 2)" in failed.value.message
