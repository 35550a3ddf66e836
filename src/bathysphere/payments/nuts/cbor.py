"""The subset of CBOR used by tokens (NUT-00) and payment requests (NUT-18).

Supported: unsigned integers, bytes, text, arrays, maps with short text keys, true, false, null.
Rejected: tags, floats, negative integers, indefinite lengths, non-minimal integers, duplicate keys,
trailing bytes. The input is untrusted, so depth, item count and lengths are checked before anything
is allocated.
"""

from typing import NamedTuple, TypeAlias

Value: TypeAlias = "int | bytes | str | bool | list[Value] | dict[str, Value] | None"

MAX_DEPTH = 8
MAX_ITEMS = 20_000
MAX_KEY = 16

_UINT, _BYTES, _TEXT, _ARRAY, _MAP, _SIMPLE = 0, 2, 3, 4, 5, 7
_SIMPLE_VALUES: dict[int, bool | None] = {20: False, 21: True, 22: None}
_UNDEFINED = 23
_WIDTHS = {24: 1, 25: 2, 26: 4, 27: 8}
_MAX_UINT = 2**64 - 1


class BadCbor(ValueError):
    """The bytes are not in the supported subset of CBOR."""


# ── encoding ──


def encode(value: Value) -> bytes:
    """Encode a value; maps keep their order."""
    if value is None or isinstance(value, bool):
        return bytes([0xE0 | {False: 20, True: 21, None: 22}[value]])
    if isinstance(value, int):
        return _head(_UINT, value)
    if isinstance(value, bytes):
        return _head(_BYTES, len(value)) + value
    if isinstance(value, str):
        data = value.encode()
        return _head(_TEXT, len(data)) + data
    if isinstance(value, list):
        return _head(_ARRAY, len(value)) + b"".join(map(encode, value))
    pairs = (encode(key) + encode(item) for key, item in value.items())
    return _head(_MAP, len(value)) + b"".join(pairs)


def _head(major: int, number: int) -> bytes:
    if not 0 <= number <= _MAX_UINT:
        message = f"{number} does not fit in 64 bits"
        raise BadCbor(message)
    if number < 24:
        return bytes([major << 5 | number])
    info, width = next((i, w) for i, w in _WIDTHS.items() if number < 1 << 8 * w)
    return bytes([major << 5 | info]) + number.to_bytes(width, "big")


# ── decoding ──


def decode(data: bytes, *, undefined: bool = False) -> Value:
    """Decode a value; with `undefined`, CBOR's undefined (as some wallets write) becomes None."""
    reader = _Reader(data, undefined=undefined)
    value = reader.value(0)
    if reader.at != len(data):
        message = f"{len(data) - reader.at} trailing bytes"
        raise BadCbor(message)
    return value


class _Head(NamedTuple):
    major: int
    info: int
    number: int


class _Reader:
    def __init__(self, data: bytes, *, undefined: bool) -> None:
        self.data = data
        self.at = 0
        self._items = 0
        self._undefined = undefined

    def value(self, depth: int) -> Value:
        self._items += 1
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            message = "Value is nested too deeply or has too many items"
            raise BadCbor(message)
        head = self._head()
        if head.major == _UINT:
            return head.number
        if head.major == _BYTES:
            return self._take(head.number)
        if head.major == _TEXT:
            return self._text(head.number)
        if head.major == _ARRAY:
            self._fits(head.number)
            return [self.value(depth + 1) for _ in range(head.number)]
        if head.major == _MAP:
            self._fits(2 * head.number)
            return self._map(head.number, depth)
        return self._simple(head)

    def _map(self, size: int, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _ in range(size):
            key = self._key()
            if key in found:
                message = f"Duplicate key: {key}"
                raise BadCbor(message)
            found[key] = self.value(depth + 1)
        return found

    def _key(self) -> str:
        head = self._head()
        if head.major != _TEXT or head.number > MAX_KEY:
            message = f"Map keys must be strings of at most {MAX_KEY} bytes"
            raise BadCbor(message)
        return self._text(head.number)

    def _simple(self, head: _Head) -> bool | None:
        if head.major == _SIMPLE and head.info in _SIMPLE_VALUES:
            return _SIMPLE_VALUES[head.info]
        if head.major == _SIMPLE and head.info == _UNDEFINED and self._undefined:
            return None
        message = f"Unsupported CBOR type: {head.major}/{head.info}"
        raise BadCbor(message)

    def _head(self) -> _Head:
        byte = self._take(1)[0]
        major, info = byte >> 5, byte & 31
        if info < 24:
            return _Head(major, info, info)
        if info not in _WIDTHS or major == _SIMPLE:
            message = f"Unsupported CBOR type: {major}/{info}"
            raise BadCbor(message)
        number = int.from_bytes(self._take(_WIDTHS[info]), "big")
        if _head(major, number)[0] & 31 != info:
            message = "Non-minimal integer encoding"
            raise BadCbor(message)
        return _Head(major, info, number)

    def _text(self, size: int) -> str:
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            message = "Invalid UTF-8"
            raise BadCbor(message) from error

    def _take(self, size: int) -> bytes:
        self._fits(size)
        taken = self.data[self.at : self.at + size]
        self.at += size
        return taken

    def _fits(self, size: int) -> None:
        """Check that the input has `size` bytes left; every item takes at least one."""
        if size > len(self.data) - self.at:
            message = "Length exceeds the input"
            raise BadCbor(message)
