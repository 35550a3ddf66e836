"""The operator's keys, as a list of `id:base64`: the first encrypts, all decrypt."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bathysphere.core.errors import ConfigError

KEY_BYTES = 32
PLAIN = "plain"
"""Stands for no key, in the first place: keys are only read with."""
_ID = re.compile(r"[a-z0-9_-]{1,32}")
_HINT = "write it as id:key, and make keys with `bathysphere encryption new-key`"


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A key of the operator. Values name the id of the key that they were encrypted with."""

    key_id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class MasterKeys:
    """All keys of a process, and the one that encrypts."""

    keys: tuple[MasterKey, ...] = ()
    writer: MasterKey | None = None
    """None: values are stored in plain text."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a list of keys.

        Raises:
            ConfigError: An entry is invalid; its key is not part of the message.
        """
        entries = [entry for part in text.splitlines() for entry in _entries(part)]
        if not entries:
            raise ConfigError("The list of encryption keys is empty", hint=_HINT)
        writes_plain = entries[0] == PLAIN
        keys = tuple(_key(entry) for entry in entries[writes_plain:])
        _check(keys)
        return cls(keys=keys, writer=None if writes_plain else keys[0])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a list of keys from a file.

        Raises:
            ConfigError: The file cannot be read, or an entry is invalid.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"Cannot read the encryption keys: {path}",
                hint="let BATHYSPHERE_ENCRYPTION_KEYS_FILE name a file that this process may read",
            ) from error


def _entries(line: str) -> list[str]:
    return [entry.strip() for entry in line.partition("#")[0].split(",") if entry.strip()]


def _key(entry: str) -> MasterKey:
    key_id, separator, encoded = entry.partition(":")
    if not separator or not _ID.fullmatch(key_id) or key_id == PLAIN:
        raise ConfigError(
            "The id of an encryption key is 1 to 32 of a-z, 0-9, - and _, and not `plain`",
            hint=_HINT,
        )
    try:
        secret = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise ConfigError(
            f"Encryption key '{key_id}' is not {KEY_BYTES} bytes in base64", hint=_HINT
        )
    return MasterKey(key_id, secret)


def _check(keys: Sequence[MasterKey]) -> None:
    if not keys:
        raise ConfigError("The list of encryption keys has no key", hint=_HINT)
    for what in ({key.key_id for key in keys}, {key.secret for key in keys}):
        if len(what) < len(keys):
            raise ConfigError("An encryption key is listed twice", hint="remove one of the two")
