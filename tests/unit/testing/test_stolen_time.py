"""The share of processor time that a host takes away, from `/proc/stat`."""

import pytest

from bathysphere.testing import stolen_time
from bathysphere.testing.stolen_time import StolenTime


@pytest.fixture
def stat(tmp_path, monkeypatch):
    file = tmp_path / "stat"
    monkeypatch.setattr(stolen_time, "_STAT", file)
    return file


def test_it_is_what_was_stolen_of_all_that_passed(stat):
    stat.write_text("cpu 10 0 10 70 0 0 0 10 5 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    stolen = StolenTime()
    stat.write_text("cpu 20 0 20 100 0 0 0 60 9 0\n")
    assert stolen.share() == 0.5


def test_nothing_is_stolen_while_no_time_passes_or_where_it_is_not_known(stat):
    assert StolenTime().share() == 0
    stat.write_text("cpu 10 0 10 70 0 0 0 10 5 0\n")
    assert StolenTime().share() == 0
