"""`bathysphere dev`: what it watches and when it opens a browser."""

import os
import sys
import time
import webbrowser
from argparse import ArgumentParser

import pytest

from bathysphere.cli import dev
from bathysphere.engine.graphs import Graphs
from bathysphere.registry.langgraph_json import read_project
from bathysphere.registry.selection import Selection
from bathysphere.registry.targets import parse_target


@pytest.mark.parametrize(
    ("platform", "screen", "is_opened"),
    [("linux", {"DISPLAY": ":0"}, True), ("linux", {}, False), ("darwin", {}, True)],
)
def test_a_browser_is_opened_where_there_is_a_screen(monkeypatch, platform, screen, is_opened):
    opened = []
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(dev.threading, "Thread", _AtOnce)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    dev.open_browser("http://127.0.0.1:1")
    assert opened == (["http://127.0.0.1:1"] if is_opened else [])


class _AtOnce:
    def __init__(self, target, args, daemon):
        self.start = lambda: target(*args)


def test_a_project_is_watched_with_everything_that_it_is_made_of(tmp_path):
    for place in ("project/agents/a", "lib", "shared/b"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "project/agents/a/agent.toml").write_text("")
    (tmp_path / "shared/b/agent.toml").write_text("")
    file = tmp_path / "project/langgraph.json"
    file.write_text(
        '{"graphs": {"a": "./agents/a", "b": "../shared/b"}, "dependencies": [".", "../lib"]}'
    )
    folders = dev._outermost(Selection(projects=(read_project(file),)).folders())
    assert sorted(folders) == [tmp_path / "lib", tmp_path / "project", tmp_path / "shared/b"]
    target = parse_target("agents/a", folder=tmp_path / "project")
    assert dev._outermost(Selection(agents=(target,)).folders()) == [tmp_path / "project"]


def test_caches_and_the_data_folder_are_not_watched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from watchfiles import Change

    project = dev._Project([], is_only=False, data_dir=tmp_path / ".bathysphere")
    is_relevant = project._filter()
    (tmp_path / "agents/y").mkdir(parents=True)
    seen = {
        place: is_relevant(Change.modified, str(tmp_path / place))
        for place in (
            "agents/x/prompt.md",
            "agents/x/tools.py",
            "langgraph.json",
            ".bathysphere/postgres/pg_wal/0001",
            "agents/x/__pycache__/tools.pyc",
            ".git/index",
            "agents/y",
            ".venv/lib/x.py",
        )
    }
    assert [place for place, is_seen in seen.items() if is_seen] == list(seen)[:3]


def test_files_that_changed_while_the_server_started_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    now = time.time()
    for place, age in (("a/new.md", 0), ("a/old.md", 60), (".venv/new.py", 0), (".data/x", 0)):
        file = tmp_path / place
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
        os.utime(file, (now - age, now - age))
    project = dev._Project([], is_only=False, data_dir=tmp_path / ".data")
    project._loaded_at = now - 30
    assert project.changed_since_start() == ["a/new.md"]


def test_data_is_kept_in_the_project_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATHYSPHERE_DATA_DIR", raising=False)
    (tmp_path / "agent.toml").write_text("")
    found = []
    monkeypatch.setattr(dev, "prepare", lambda settings: None)
    monkeypatch.setattr(dev._Project, "load_first", lambda self: {})
    monkeypatch.setattr(dev, "run_server", lambda settings, agents, **_: found.append(settings))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    parser = ArgumentParser()
    dev.add_arguments(parser)
    dev.run(parser.parse_args([]))
    dev.run(parser.parse_args(["--data-dir", "other"]))
    monkeypatch.setenv("BATHYSPHERE_DATA_DIR", "third")
    dev.run(parser.parse_args([]))
    assert [os.path.relpath(each.data_dir) for each in found] == [".bathysphere", "other", "third"]


def test_graphs_are_replaced_by_those_of_another_object():
    first, second, third = object(), object(), object()
    graphs = Graphs({"a": lambda: first, "b": lambda: third}, descriptions={"a": "old"})
    assert graphs.get("a") is first
    graphs.replace(Graphs({"a": lambda: second}, descriptions={"a": "new"}))
    assert graphs.get("a") is second
    assert (graphs.names(), graphs.description("a")) == (["a"], "new")
