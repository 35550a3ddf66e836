"""`GET /usage` and `bathysphere usage`: people see their own usage, operators everybody's."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import SECRET, town  # noqa: F401  # a fixture

from bathysphere.cli.main import main

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]


async def test_a_person_reads_their_own_usage(town):  # noqa: F811
    answer = (await town.call("alice", "GET", "/usage", params={"by": "model"})).json()
    (itself, used) = answer["lines"]
    assert (itself["key"], used["key"]) == (None, SECRET)
    assert used["model_calls"] == answer["total"]["model_calls"] >= 2
    nothing = (await town.call("bob", "GET", "/usage")).json()
    assert nothing["lines"] == []
    assert nothing["total"]["runs"] == 0


async def test_a_period_bounds_the_usage(town):  # noqa: F811
    before = {"since": "2020-01-01", "until": "2020-02-01T00:00:00Z"}
    assert (await town.call("alice", "GET", "/usage", params=before)).json()["lines"] == []
    for since, until in (("2021-01-01", "2020-01-01"), ("2000-01-01", "2020-01-01")):
        asked = {"since": since, "until": until}
        answer = await town.call("alice", "GET", "/usage", params=asked)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert (await town.call("alice", "GET", "/usage", params={"by": "user"})).status_code == 422
    edge = {"until": "0001-01-02"}
    assert (await town.call("alice", "GET", "/usage", params=edge)).status_code == 422


async def test_an_operator_reads_everybodys_usage(town, capsys):  # noqa: F811
    url = town.services.database.url
    asked = ["usage", "--database-url", url, "--by", "user"]
    assert await asyncio.to_thread(main, [*asked, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert line["user"] == "alice/alice"
    assert await asyncio.to_thread(main, [*asked, "--tenant", "bob"]) == 0
    assert "alice" not in capsys.readouterr().out


async def test_a_run_over_the_budget_is_refused(town, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setattr(town.services.budgets, "_fresh_seconds", 0)
    options = ["--database-url", town.services.database.url]
    chosen = ["--tenant", "carol", "--user", "carol"]
    run = {"assistant_id": "plain", "input": {"items": []}}
    thread = (await town.call("carol", "POST", "/threads", json={})).json()["thread_id"]
    budgets = ["budgets", *options]
    assert await asyncio.to_thread(main, [*budgets, "set", "0", *chosen]) == 0
    for path in ("/runs", f"/threads/{thread}/runs", f"/threads/{thread}/runs/stream"):
        answer = await town.call("carol", "POST", path, json=run)
        assert (answer.status_code, answer.json()["error"]) == (402, "budget_exceeded"), path
        assert answer.json()["hint"]
    start = {"id": 1, "method": "run.start", "params": run}
    answer = await town.call("carol", "POST", f"/threads/{thread}/commands", json=start)
    assert answer.json()["error"] == "budget_exceeded"
    assert "budget of this user is used up" in answer.text
    capsys.readouterr()
    assert await asyncio.to_thread(main, [*budgets, "list"]) == 0
    assert "carol" in capsys.readouterr().out
    assert await asyncio.to_thread(main, [*budgets, "remove", *chosen]) == 0
    assert await asyncio.to_thread(main, [*budgets, "remove", *chosen]) == 1
    answer = await town.call("carol", "POST", f"/threads/{thread}/runs", json=run)
    assert answer.status_code == 200
