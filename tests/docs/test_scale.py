"""docs/scale.md states what `make simulate-scale` prints, and the simulation adds up."""

import copy
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "scale"))

import simulate  # noqa: E402


@pytest.fixture
def costs():
    return tomllib.loads((ROOT / "benchmarks" / "scale" / "costs.toml").read_text())


def used(costs, per_day):
    return {part.name: part.used for part in simulate.parts(per_day, costs)}


def test_the_page_states_the_simulated_figures(costs):
    page = (ROOT / "docs" / "scale.md").read_text()
    figures = simulate.report(costs)
    assert f"{figures.pop('cell_sessions') / 1e6:.2f} million sessions a day" in page
    for size in figures.values():
        price = f"${size['dollars_per_session']:.6f}"
        assert f"| {size['cells']} | {size['breaks_first']} | {price} |" in page


def test_a_day_has_as_many_sessions_as_asked_and_the_peak_that_was_asked(costs):
    day = simulate.sessions_by_minute(1e7, 3.0, simulate.random.Random(1))
    assert sum(day) == pytest.approx(1e7, rel=0.01)
    assert max(day) / (sum(day) / len(day)) == pytest.approx(3.0, rel=0.05)


def test_what_stays_open_follows_from_how_long_it_stays():
    steady = [60.0] * simulate.MINUTES
    assert simulate.peak_open(steady, 10) == pytest.approx(600)
    assert simulate.peak_open(steady, 0.5) == pytest.approx(30)
    assert simulate.peak_open([60.0, *[0.0] * 99], 10) == pytest.approx(60)


def test_use_grows_with_the_sessions_and_a_cell_carries_what_it_says(costs):
    small, large = used(costs, 1e6), used(costs, 4e6)
    for name, amount in small.items():
        assert large[name] == pytest.approx(4 * amount, rel=0.05), name
    capacity = simulate.cell_sessions(costs)
    assert all(part.share <= 1 for part in simulate.parts(capacity * 0.99, costs))
    assert any(part.share > 1 for part in simulate.parts(capacity * 1.01, costs))


def test_twice_the_cost_of_a_token_shrinks_a_cell_that_is_bound_by_processors(costs):
    bound = copy.deepcopy(costs)
    bound["cell"] |= {"cores": 4, "redis_gb": 1000, "disk_gb": 1e6}
    dear = copy.deepcopy(bound)
    dear["token"]["cpu_us"] *= 2
    assert simulate.cell_sessions(dear) < 0.7 * simulate.cell_sessions(bound)


def test_a_tenant_larger_than_a_cell_is_named(costs):
    assert simulate.breaks_first(1e8, 1e6, costs) == "the cell of the largest tenant"
    assert simulate.breaks_first(1e6, 1e6, costs) != "the cell of the largest tenant"
