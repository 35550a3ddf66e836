"""Cron expressions: the times at which a schedule is due."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterError

from bathysphere.engine.errors import InvalidSchedule

MAX_LENGTH = 200
_RANDOM = re.compile(r"[rh](\(|/|$)", re.IGNORECASE)
_SAMPLES = 100
_HORIZON = timedelta(days=731)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron expression of five fields, or six with seconds at the end, in a time zone."""

    expression: str
    timezone: ZoneInfo

    @classmethod
    def parse(cls, expression: str, timezone: str | None = None) -> Self:
        """Parse an expression and the name of a time zone; default: UTC.

        Raises:
            InvalidSchedule: The expression or the time zone is invalid.
        """
        zone = _zone(timezone)
        fields = expression.split()
        is_form = expression.startswith("@") or len(fields) in (5, 6)
        # Random fields would give every process other times.
        is_fixed = not any(_RANDOM.match(field) for field in fields)
        is_short = len(expression) <= MAX_LENGTH
        if not (is_short and is_form and is_fixed and croniter.is_valid(expression)):
            raise InvalidSchedule(
                f"schedule: Invalid cron expression {expression[:MAX_LENGTH]!r}",
                hint="five fields: minute, hour, day of month, month, day of week",
            )
        return cls(expression, zone)

    def after(self, moment: datetime) -> datetime:
        """The first due time after a moment, in UTC.

        Raises:
            InvalidSchedule: There is none.
        """
        try:
            start = moment.astimezone(self.timezone)
            found: datetime = croniter(self.expression, start).get_next(datetime)
        except CroniterError as error:
            raise InvalidSchedule(
                f"schedule: {self.expression!r} is never due", hint="choose a date that exists"
            ) from error
        return found.astimezone(UTC)

    def shortest_interval(self, start: datetime) -> timedelta:
        """The shortest time between due times, of the first ones after `start`."""
        due, shortest = self.after(start), _HORIZON
        for _ in range(_SAMPLES):
            following = self.after(due)
            shortest = min(shortest, following - due)
            due = following
            if due - start > _HORIZON:
                break
        return shortest


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidSchedule(
            f"timezone: Unknown time zone {name!r}", hint="use an IANA name, such as Europe/Berlin"
        ) from error
