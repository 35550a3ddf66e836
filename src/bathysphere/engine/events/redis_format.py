"""How the events of a thread are stored in Redis: keys, the script that appends, and entries."""

from typing import Any
from uuid import UUID

from bathysphere.engine.events.log import Entry


class Keys:
    """The keys of threads' events in one epoch of the database.

    After a restore the database knows nothing of the events before: their keys are not read again,
    and expire.
    """

    def __init__(self, epoch: str = "") -> None:
        self._epoch = f"{epoch}:" if epoch else ""

    def stream(self, thread_id: UUID) -> str:
        """The stream of a thread."""
        return f"bathysphere:{self._epoch}{{{thread_id}}}:log"

    def fence(self, thread_id: UUID) -> str:
        """The highest token of an attempt on the thread."""
        return f"bathysphere:{self._epoch}{{{thread_id}}}:fence"

    def size(self, thread_id: UUID) -> str:
        """The bytes in the stream."""
        return f"bathysphere:{self._epoch}{{{thread_id}}}:bytes"

    def all(self, thread_id: UUID) -> list[str]:
        """All keys of a thread, in the order of the script's."""
        return [self.stream(thread_id), self.fence(thread_id), self.size(thread_id)]

    def channel(self, thread_id: UUID) -> str:
        """The channel that new events are published to."""
        return f"bathysphere:log:{self._epoch}{thread_id}"


def entries_of(rows: Any) -> list[Entry]:
    """The entries of rows read from the stream."""
    return [
        Entry(int(row.split(b"-", 1)[0]), fields[b"e"], fields.get(b"o", b"").decode())
        for row, fields in rows
    ]


def batch_of(data: bytes) -> list[Entry]:
    """The entries of a published batch."""
    first, owner, *bodies = data.split(b"\n")
    return [Entry(int(first) + n, body, owner.decode()) for n, body in enumerate(bodies)]


APPEND = """
local stream, fence, size = KEYS[1], KEYS[2], KEYS[3]
local start, cap, cap_bytes, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local token, owner = tonumber(ARGV[5]), ARGV[8]
if token > 0 then
    if token < tonumber(redis.call('GET', fence) or 0) then return 0 end
    redis.call('SET', fence, token, 'EX', keep)
end
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
local last = start
if newest[1] then last = tonumber(string.match(newest[1][1], '^%d+')) end
last = last + tonumber(ARGV[6])
local first = last + 1
local batch = { string.format('%.0f', first), owner }
local bytes = tonumber(redis.call('GET', size) or 0)
for i = 9, #ARGV do
    last = last + 1
    redis.call('XADD', stream, string.format('%.0f-0', last), 'e', ARGV[i], 'o', owner)
    bytes = bytes + #ARGV[i]
    batch[#batch + 1] = ARGV[i]
end
local length = redis.call('XLEN', stream)
while length > 0 and (length > cap or bytes > cap_bytes) do
    local excess = math.max(1, math.min(100, length - cap))
    for _, old in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', excess)) do
        bytes = bytes - #old[2][2]
        redis.call('XDEL', stream, old[1])
        length = length - 1
    end
end
redis.call('SET', size, bytes, 'EX', keep)
redis.call('EXPIRE', stream, keep)
redis.call('PUBLISH', ARGV[7], table.concat(batch, '\\n'))
return string.format('%.0f', last)
"""
