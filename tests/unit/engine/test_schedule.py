"""Cron expressions: which are accepted, and when they are due."""

from datetime import UTC, datetime, timedelta

import pytest

from bathysphere.engine.crons.schedule import Schedule
from bathysphere.engine.errors import InvalidSchedule

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def due(expression: str, start: datetime, count: int, timezone: str | None = None) -> list[str]:
    schedule, found = Schedule.parse(expression, timezone), []
    for _ in range(count):
        start = schedule.after(start)
        found.append(start.strftime("%m-%d %H:%M:%S"))
    return found


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("*/15 * * * *", "01-01 00:15:00"),
        ("0 9 * * mon-fri", "01-01 09:00:00"),
        ("@daily", "01-02 00:00:00"),
        ("* * * * * */10", "01-01 00:00:10"),
        ("0 0 L * *", "01-31 00:00:00"),
    ],
)
def test_the_first_due_time_is_after_the_start(expression, first):
    assert due(expression, NEW_YEAR, 1) == [first]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "61 * * * *",
        "* * * *",
        "* * * * * * 2030",
        "R * * * *",
        "r(0-10) * * * *",
        "H * * * *",
        "R/5 * * * *",
        "often",
        "* * * * *" + "," * 300,
    ],
)
def test_an_invalid_or_random_expression_is_refused_by_its_field(expression):
    with pytest.raises(InvalidSchedule, match="schedule: Invalid cron expression"):
        Schedule.parse(expression)


@pytest.mark.parametrize("timezone", ["Nowhere/City", "../etc/passwd", "Europe", "\0"])
def test_an_unknown_time_zone_is_refused_by_its_field(timezone):
    with pytest.raises(InvalidSchedule, match="timezone: Unknown time zone"):
        Schedule.parse("* * * * *", timezone)


def test_a_date_that_does_not_exist_is_never_due():
    with pytest.raises(InvalidSchedule, match="never due"):
        Schedule.parse("0 0 30 2 *").after(NEW_YEAR)


def test_a_time_zone_follows_its_summer_time():
    start = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert due("0 9 * * *", start, 2, "Europe/Berlin") == ["03-29 07:00:00", "03-30 07:00:00"]
    start = datetime(2026, 3, 27, 12, tzinfo=UTC)
    assert due("0 9 * * *", start, 1, "Europe/Berlin") == ["03-28 08:00:00"]


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/20 * * * *", "0 * * * *"])
@pytest.mark.parametrize("month", [3, 10])
def test_due_times_only_increase_over_a_change_of_summer_time(expression, month):
    schedule, moment = (
        Schedule.parse(expression, "Europe/Berlin"),
        datetime(2026, month, 24, tzinfo=UTC),
    )
    for _ in range(300):
        following = schedule.after(moment)
        assert following > moment
        moment = following


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("* * * * *", 60), ("* * * * * *", 1), ("0,59 * * * *", 60), ("0 0 1 1 *", 31_536_000)],
)
def test_the_shortest_interval_is_found(expression, seconds):
    found = Schedule.parse(expression).shortest_interval(NEW_YEAR)
    assert found == timedelta(seconds=seconds)
