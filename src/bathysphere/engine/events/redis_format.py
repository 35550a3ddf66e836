"""How the events of a thread are stored in Redis: keys, the script that appends, and rows.

Parts of events are stored in two hashes in turn. When one has grown, a new generation of parts
begins in the other, which is emptied; events whose parts were there are dropped with them. A new
one begins also where the hash has been lost, in the same place: a writer that knew it is told.
"""

from dataclasses import dataclass
from typing import Any, Self
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
        return self._of(thread_id, "log")

    def parts(self, thread_id: UUID, slot: int) -> str:
        """The parts of every other generation."""
        return self._of(thread_id, f"parts:{slot}")

    def all(self, thread_id: UUID) -> list[str]:
        """All keys of a thread, in the order of the script's."""
        # The highest token of an attempt on the thread; bytes, generation and bytes of its parts.
        others = [self._of(thread_id, name) for name in ("fence", "sizes")]
        return [self.stream(thread_id), *others, *(self.parts(thread_id, slot) for slot in (0, 1))]

    def channel(self, thread_id: UUID) -> str:
        """The channel that new events are published to."""
        return f"bathysphere:log:{self._epoch}{thread_id}"

    def _of(self, thread_id: UUID, name: str) -> str:
        return f"bathysphere:{self._epoch}{{{thread_id}}}:{name}"


@dataclass(frozen=True, slots=True)
class Row:
    """An event as it is stored."""

    id: int
    text: bytes
    owner: str
    slot: int | None
    """Where its parts are; None if it has none."""

    @classmethod
    def of(cls, row: Any) -> Self:
        """Read a row of the stream."""
        number, fields = row
        event_id, owner = int(number.split(b"-", 1)[0]), fields.get(b"o", b"").decode()
        if (divided := fields.get(b"d")) is not None:
            return cls(event_id, divided, owner, int(fields[b"p"]))
        return cls(event_id, fields[b"e"], owner, None)


def stand_in(divided: bytes) -> bytes:
    """What a version that knows no parts reads in place of a divided event.

    A state is one that was too large for the log, which it reads from the database; anything else
    is such a state of a subgraph, which it leaves out.
    """
    return _STATE if divided.startswith(b'{"channel":"values"') else _NESTED_STATE


def batch_of(data: bytes) -> list[Entry]:
    """The entries of a published batch, which are whole."""
    first, owner, *bodies = data.split(b"\n")
    return [Entry(int(first) + n, body, owner.decode()) for n, body in enumerate(bodies)]


_STATE = b'{"channel":"values","run_id":"","namespace":[],"data":{"omitted_bytes":0}}'
_NESTED_STATE = _STATE.replace(b"[]", b'["-"]')

APPEND = """
local stream, fence, sizes = KEYS[1], KEYS[2], KEYS[3]
local start, cap, cap_bytes, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local token, owner, known = tonumber(ARGV[5]), ARGV[8], tonumber(ARGV[9])
if token > 0 then
    if token < tonumber(redis.call('GET', fence) or 0) then return { '0', '0' } end
    redis.call('SET', fence, token, 'EX', keep)
end
local kept = redis.call('HMGET', sizes, 'bytes', 'generation', 'parts')
local bytes, parts = tonumber(kept[1] or 0), tonumber(kept[3] or 0)
local generation = tonumber(kept[2] or start)
local slot = generation % 2
if parts > 0 and redis.call('HEXISTS', KEYS[4 + slot], 'generation') == 0 then
    generation, parts = generation + 2, 0
end
if known > 0 and known ~= generation then return { '-1', '0' } end
local used = string.format('%.0f', generation)
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
local last = start
if newest[1] then
    last = tonumber(string.match(newest[1][1], '^%d+'))
else
    bytes = 0
end
last = last + tonumber(ARGV[6])
local batch = { string.format('%.0f', last + 1), owner }
local i = 10
while i <= #ARGV do
    local body, text, stand_in = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local after = i + 4 + 2 * tonumber(ARGV[i + 3])
    for part = i + 4, after - 1, 2 do
        if redis.call('HSETNX', KEYS[4 + slot], ARGV[part], ARGV[part + 1]) == 1 then
            parts = parts + #ARGV[part + 1]
        end
    end
    last = last + 1
    local id = string.format('%.0f-0', last)
    if text == '' then
        redis.call('XADD', stream, id, 'e', body, 'o', owner, 'n', #body, 'p', slot)
    else
        redis.call('XADD', stream, id, 'e', stand_in, 'o', owner, 'n', #body, 'p', slot, 'd', text)
    end
    bytes = bytes + #body
    batch[#batch + 1] = body
    i = after
end
if parts > 0 then redis.call('HSET', KEYS[4 + slot], 'generation', used) end
local function drop_oldest(count)
    for _, old in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', count)) do
        bytes = math.max(0, bytes - tonumber(old[2][6] or #old[2][2]))
        redis.call('XDEL', stream, old[1])
    end
end
local length = redis.call('XLEN', stream)
while length > 0 and (length > cap or bytes > cap_bytes) do
    drop_oldest(math.max(1, math.min(100, length - cap)))
    length = redis.call('XLEN', stream)
end
if parts > cap_bytes / 2 then
    generation, parts, slot = generation + 1, 0, 1 - slot
    local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)
    while oldest[1] and tonumber(oldest[1][2][8] or slot) == slot do
        drop_oldest(1)
        oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)
    end
    redis.call('DEL', KEYS[4 + slot])
end
redis.call('HSET', sizes, 'bytes', bytes, 'parts', parts,
    'generation', string.format('%.0f', generation))
for _, key in ipairs({ stream, sizes, KEYS[4], KEYS[5] }) do redis.call('EXPIRE', key, keep) end
redis.call('PUBLISH', ARGV[7], table.concat(batch, '\\n'))
return { string.format('%.0f', last), used }
"""
