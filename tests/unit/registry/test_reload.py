"""Modules of a project that are imported again."""

import sys

import pytest

from bathysphere.registry.modules import import_target
from bathysphere.registry.reload import fresh_modules
from bathysphere.registry.targets import parse_target


@pytest.fixture(autouse=True)
def _imports_as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "shop_r").mkdir()
    (tmp_path / "shop_r/words.py").write_text("WORD = 'old'")
    (tmp_path / "agents_r.py").write_text("from shop_r.words import WORD")
    return tmp_path


def word(project):
    return import_target(parse_target("agents_r.py:WORD", folder=project))


def test_all_modules_of_the_project_are_imported_again(project):
    assert word(project) == "old"
    (project / "shop_r/words.py").write_text("WORD = 'new'")
    assert word(project) == "old"
    with fresh_modules([project]):
        assert word(project) == "new"
    assert word(project) == "new"


def test_after_a_mistake_the_former_modules_stay(project):
    assert word(project) == "old"
    former = sys.modules["shop_r.words"]
    (project / "shop_r/words.py").write_text("WORD = 'new'")
    (project / "agents_r.py").write_text("from shop_r.words import WORD\n1 / 0")
    with pytest.raises(Exception, match="ZeroDivisionError"), fresh_modules([project]):
        word(project)
    assert sys.modules["shop_r.words"] is former
    assert word(project) == "old"


def test_modules_outside_the_project_and_ours_stay(project):
    word(project)
    others = {name: sys.modules[name] for name in ("json", "pytest", "bathysphere.registry.reload")}
    ours = sys.modules["bathysphere"].__path__[0]
    with fresh_modules([project, project.__class__(ours).parent]):
        assert "shop_r" not in sys.modules
        assert {name: sys.modules[name] for name in others} == others
