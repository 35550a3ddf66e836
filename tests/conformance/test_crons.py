"""The stock Python `langgraph_sdk`: every method of its crons client, and webhooks of runs."""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import CronClient, LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from webhook_receiver import Receiver, open_receiver

pytestmark = pytest.mark.services
MORNINGS = "0 9 * * mon-fri"
EVERY_SECOND = "* * * * * *"
STEP = {"name": "tick", "steps": 1}


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server, api_key=None) as client:
        yield client


@pytest.fixture
async def bob(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server, api_key=None, headers={"x-user": "bob"}) as client:
        yield client


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


def test_these_are_all_methods_of_the_crons_client() -> None:
    found = {name for name, _ in inspect.getmembers(CronClient, inspect.isfunction)}
    assert {name for name in found if not name.startswith("_")} == {
        "create",
        "create_for_thread",
        "update",
        "delete",
        "search",
        "count",
    }


async def test_a_schedule_is_created_found_changed_and_deleted(client: LangGraphClient) -> None:
    mark = {"mark": str(uuid4())}
    cron: Any = await client.crons.create(
        "steps",
        schedule=MORNINGS,
        input=STEP,
        metadata=mark,
        timezone=ZoneInfo("Europe/Berlin"),
        end_time=datetime.now(UTC) + timedelta(days=90),
        on_run_completed="keep",
    )
    assert (cron["schedule"], cron["timezone"]) == (MORNINGS, "Europe/Berlin")
    assert (cron["thread_id"], cron["on_run_completed"], cron["enabled"]) == (None, "keep", True)
    assert cron["payload"]["input"] == STEP
    due = datetime.fromisoformat(cron["next_run_date"]).astimezone(ZoneInfo("Europe/Berlin"))
    assert (due.hour, due.minute, due.weekday() < 5) == (9, 0, True)
    assert await client.crons.count(metadata=mark) == 1
    (found,) = await client.crons.search(assistant_id="steps", metadata=mark, enabled=True)
    assert found == cron
    changed: Any = await client.crons.update(
        cron["cron_id"], schedule="0 10 * * *", end_time=None, enabled=False, metadata={"more": 1}
    )
    assert (changed["schedule"], changed["end_time"]) == ("0 10 * * *", None)
    assert (changed["enabled"], changed["metadata"]) == (False, {**mark, "more": 1})
    assert (changed["payload"]["input"], changed["timezone"]) == (STEP, "Europe/Berlin")
    assert await client.crons.search(metadata=mark, enabled=True) == []
    await client.crons.delete(cron["cron_id"])
    assert await client.crons.count(metadata=mark) == 0
    with pytest.raises(NotFoundError):
        await client.crons.delete(cron["cron_id"])


async def test_schedules_are_sorted_paged_and_selected(client: LangGraphClient) -> None:
    mark = {"mark": str(uuid4())}
    made: list[Any] = [
        await client.crons.create("steps", schedule=f"{n} 9 * * *", metadata=mark) for n in range(3)
    ]
    newest = await client.crons.search(metadata=mark, limit=2)
    assert [one["cron_id"] for one in newest] == [made[2]["cron_id"], made[1]["cron_id"]]
    by_time = await client.crons.search(
        metadata=mark, sort_by="next_run_date", sort_order="asc", offset=1, select=["schedule"]
    )
    assert by_time == [{"schedule": "1 9 * * *"}, {"schedule": "2 9 * * *"}]


async def test_a_schedule_of_a_thread_runs_on_it(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    cron: Any = await client.crons.create_for_thread(
        thread, "steps", schedule=EVERY_SECOND, input=STEP, multitask_strategy="enqueue"
    )
    assert cron["thread_id"] == thread
    assert [c["cron_id"] for c in await client.crons.search(thread_id=thread)] == [cron["cron_id"]]
    async with asyncio.timeout(20):
        while len(runs := await client.runs.list(thread, status="success")) < 2:  # noqa: ASYNC110  # another process
            await asyncio.sleep(0.1)
    await client.crons.delete(cron["cron_id"])
    assert {run["metadata"]["cron_id"] for run in runs} == {cron["cron_id"]}
    values: Any = (await client.threads.get_state(thread))["values"]
    assert values["items"][:2] == ["tick:0", "tick:0"]


async def test_a_schedule_without_a_thread_tells_its_webhook(
    client: LangGraphClient, receiver: Receiver
) -> None:
    cron: Any = await client.crons.create(
        "steps", schedule=EVERY_SECOND, input=STEP, webhook=receiver.url()
    )
    first, second = (await receiver.wait_for(2))[:2]
    await client.crons.delete(cron["cron_id"])
    bodies = [one.json() for one in (first, second)]
    assert {body["metadata"]["cron_id"] for body in bodies} == {cron["cron_id"]}
    assert len({body["thread_id"] for body in bodies}) == 2
    assert [body["values"]["items"] for body in bodies] == [["tick:0"]] * 2


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"schedule": "often"}, "schedule"),
        ({"schedule": "0 0 30 2 *"}, "schedule"),
        ({"schedule": MORNINGS, "timezone": "Nowhere/City"}, "timezone"),
        ({"schedule": MORNINGS, "end_time": datetime(2020, 1, 1, tzinfo=UTC)}, "end_time"),
        ({"schedule": MORNINGS, "webhook": "http://169.254.169.254/"}, "webhook"),
    ],
)
async def test_what_is_wrong_is_named(
    client: LangGraphClient, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(APIStatusError) as refused:
        await client.crons.create("steps", **options)
    assert refused.value.status_code == 422
    assert field in str(refused.value)


async def test_another_owners_schedule_does_not_exist(
    client: LangGraphClient, bob: LangGraphClient
) -> None:
    thread = (await client.threads.create())["thread_id"]
    cron: Any = await client.crons.create_for_thread(thread, "steps", schedule=MORNINGS)
    for attempt in (
        bob.crons.update(cron["cron_id"], enabled=False),
        bob.crons.delete(cron["cron_id"]),
        bob.crons.create_for_thread(thread, "steps", schedule=MORNINGS),
    ):
        with pytest.raises(NotFoundError):
            await attempt
    assert await bob.crons.search(thread_id=thread) == []
    assert await bob.crons.count(thread_id=thread) == 0
    await client.crons.delete(cron["cron_id"])


@pytest.mark.parametrize("how", ["create", "wait", "stream", "stateless"])
async def test_a_run_tells_its_webhook(
    client: LangGraphClient, receiver: Receiver, how: str
) -> None:
    thread = None if how == "stateless" else (await client.threads.create())["thread_id"]
    url = receiver.url(f"/{how}")
    if how == "create":
        await client.runs.create(thread, "steps", input=STEP, webhook=url)
    elif how == "stream":
        async for _ in client.runs.stream(thread, "steps", input=STEP, webhook=url):
            pass
    else:
        await client.runs.wait(thread, "steps", input=STEP, webhook=url)
    (got,) = await receiver.wait_for(1, f"/{how}")
    assert (got.json()["status"], got.json()["values"]["items"]) == ("success", ["tick:0"])
    assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= set(got.headers)
