"""The counts of a campaign, and the judging of a schedule."""

import json
import sys
from collections import Counter
from dataclasses import dataclass, field

from schedules import Schedule
from stream_client import StreamClient

TAKEOVER = 10.0


@dataclass(kw_only=True)
class Tally:
    """The results of the campaign so far."""

    schedules: int = 0
    rig_lost: str = ""
    """What went wrong with the campaign's own servers; what was under way then is not judged."""
    unjudged: int = 0
    schedules_stuck: int = 0
    """Schedules that were given up: what they had to wait for never came."""
    runs_lost: int = 0
    messages_lost: int = 0
    messages_doubled: int = 0
    effects_lost: int = 0
    effects_doubled: int = 0
    effects_asked_about: int = 0
    streams_stuck: int = 0
    streams_compared: int = 0
    events_lost: int = 0
    events_doubled: int = 0
    reconnects: int = 0
    cancels: int = 0
    cancels_stuck: int = 0
    cancels_untold: int = 0
    seconds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    takeovers: list[float] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return (
            self.schedules_stuck
            + self.runs_lost
            + self.messages_lost
            + self.effects_lost
            + self.streams_stuck
            + self.events_lost
            + self.cancels_stuck
            + self.cancels_untold
        )

    @property
    def doubled(self) -> int:
        return self.messages_doubled + self.effects_doubled + self.events_doubled

    @property
    def takeover_max(self) -> float:
        return round(max(self.takeovers, default=0.0), 2)

    @property
    def is_good(self) -> bool:
        is_clean = not self.rig_lost and not self.lost and not self.doubled
        return is_clean and self.takeover_max <= TAKEOVER

    def summary(self, total: int) -> str:
        """The progress of the campaign."""
        return (
            f"{self.schedules}/{total}: {self.lost} lost, {self.doubled} doubled,"
            f" slowest takeover {self.takeover_max} s"
        )

    def line(self) -> str:
        """One line of JSON; the first four figures are the result."""
        parts = {
            name: value
            for name, value in vars(self).items()
            if name not in ("schedules", "faults", "takeovers")
        }
        return json.dumps(
            {
                "schedules": self.schedules,
                "lost": self.lost,
                "doubled": self.doubled,
                "takeover_max_s": self.takeover_max,
                "takeovers": len(self.takeovers),
                **parts,
                "faults": dict(sorted(self.faults.items())),
            }
        )


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def judge_items(tally: Tally, schedule: Schedule, items: list[str]) -> bool:
    """Check that the thread has the items of its runs, in order."""
    wanted = schedule.items()
    missing, extra = Counter(wanted) - Counter(items), Counter(items) - Counter(wanted)
    tally.messages_lost += missing.total()
    tally.messages_doubled += extra.total()
    if items != wanted:
        tally.messages_lost += not (missing or extra)  # in the wrong order
        say(f"WRONG {schedule}: {items}")
    return items == wanted


def judge_effects(tally: Tally, schedule: Schedule, executed: list[str]) -> None:
    """Check that every step's effect happened once, or a person was asked."""
    paid = Counter(what.removeprefix("paid ") for what in executed if what.startswith("paid "))
    asked = {what.removeprefix("asked ") for what in executed if what.startswith("asked ")}
    steps = {item for item in schedule.items() if ":" in item}
    tally.effects_doubled += sum(count - 1 for count in paid.values())
    tally.effects_lost += len(steps - set(paid) - asked)
    tally.effects_asked_about += len(asked)
    if paid.total() > len(paid) or steps - set(paid) - asked:
        say(f"EFFECTS {schedule}: {executed}")


def judge_stream(
    tally: Tally, schedule: Schedule, client: StreamClient, again: StreamClient
) -> None:
    """Check that the client got the log's events over all its connections, once and in order."""
    tally.streams_compared += 1
    tally.reconnects += client.connections - 1
    got, wanted = (
        client.ids,
        [seq for seq in again.ids if seq <= client.ids[-1]],
    )
    missing, extra = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
    tally.events_lost += missing.total()
    tally.events_doubled += extra.total() + client.repeats
    if got != wanted:
        tally.events_lost += not (missing or extra)  # in the wrong order
        say(f"STREAM {schedule}: missing {dict(missing)}, extra {dict(extra)}")
