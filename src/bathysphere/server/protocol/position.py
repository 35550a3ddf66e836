"""Positions in a thread's event stream, and their representations for clients.

The engine's log numbers its entries. One entry becomes zero or more wire events, so a position is
an entry and a part of it. It is the same for every reader and every replay.

- Protocol v2 numbers events by `seq`: an integer that increases with the position.
- The legacy stream sends the parts of an entry together; its `id` is that of the entry, and clients
  return it as `Last-Event-ID`.
"""

from typing import NamedTuple, Self

from bathysphere.server.errors import InvalidRequest

WIDTH = 1024
"""Maximum number of parts per entry."""
_LAST = WIDTH - 1
_STATUS_PARTS = {
    "completed": WIDTH - 3,
    "failed": WIDTH - 3,
    "interrupted": WIDTH - 3,
    "started": WIDTH - 2,
    "running": WIDTH - 1,
}
_LARGEST_ENTRY = 2**62


class Position(NamedTuple):
    """A log entry and one of its wire events. Positions compare in stream order."""

    entry: int
    part: int = 0

    @classmethod
    def of_part(cls, entry: int, number: int) -> Self:
        """The position of an entry's wire event, counted from 0; the last may be shared."""
        return cls(entry, min(number, _LAST))

    @classmethod
    def of_status(cls, entry: int, status: str) -> Self:
        """The position of a run's status event, independent of the entry's other events.

        The end of a run also finishes its messages, for clients that subscribed to messages. The
        number of an event that every client gets must not depend on that.
        """
        return cls(entry, _STATUS_PARTS[status])

    @classmethod
    def end_of(cls, entry: int) -> Self:
        """The last position of an entry: a client there has seen all of it."""
        return cls(entry, _LAST)

    @classmethod
    def from_seq(cls, seq: int) -> Self:
        """Parse the `seq` of a protocol v2 client."""
        return cls(*divmod(seq, WIDTH))

    @classmethod
    def from_last_event_id(cls, text: str | None) -> Self:
        """Parse the `Last-Event-ID` of a legacy stream; without one, the start.

        Raises:
            InvalidRequest: It is not a stream id.
        """
        if not text or text == "-1":
            return cls(0)
        try:
            entry = int(text)
        except ValueError as error:
            raise InvalidRequest(f"Invalid Last-Event-ID: {text[:40]!r}") from error
        return cls.end_of(max(0, min(entry, _LARGEST_ENTRY)))

    @property
    def seq(self) -> int:
        """The position as an integer."""
        return self.entry * WIDTH + self.part
