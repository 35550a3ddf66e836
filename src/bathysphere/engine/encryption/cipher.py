"""Seal and open values with AES-256-GCM, under a key per tenant.

A tenant's key is derived from the operator's with HKDF-SHA256, so nothing has to be stored for it.
The tenant and the place of a value are authenticated with it: a value that was moved to another
thread, channel or tenant does not open.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bathysphere.engine.encryption.keys import MasterKey, MasterKeys
from bathysphere.engine.encryption.places import Place
from bathysphere.engine.errors import DecryptionFailed, EncryptionKeyMissing

MARK = "$sealed"
"""The only field of a sealed JSON value."""
CIPHER = "aesgcm"
_PURPOSE = b"bathysphere/contents/v1/"
_NONCE = 12
_TYPE = re.compile(rf"(.*)\+{CIPHER}\.([a-z0-9_-]{{1,32}})")
_TEXT = re.compile(rf"{CIPHER}\.([a-z0-9_-]{{1,32}})\.([A-Za-z0-9+/]+=*)")
_TENANTS = 1024  # keys that are kept derived


class TenantCipher:
    """Seals and opens the values of one tenant."""

    def __init__(self, tenant: str, keys: MasterKeys, *, is_strict: bool = False) -> None:
        self._tenant = tenant
        self._ciphers = {key.key_id: AESGCM(_derive(key, tenant)) for key in keys.keys}
        self._writer = keys.writer.key_id if keys.writer is not None else None
        self._is_strict = is_strict

    @property
    def writer(self) -> str | None:
        """The id of the key that seals; None if values are left in plain text."""
        return self._writer

    def seal_typed(self, kind: str, data: bytes, place: Place) -> tuple[str, bytes]:
        """Seal a serialized value; the type it returns names the key."""
        if self._writer is None:
            return kind, data
        return f"{kind}+{CIPHER}.{self._writer}", self._seal(data, (*place, kind))

    def open_typed(self, kind: str, data: bytes, place: Place) -> tuple[str, bytes]:
        """Open a serialized value; one that was stored in plain text is returned as it is.

        Raises:
            DecryptionFailed: It was changed or moved, or must not be plain text.
            EncryptionKeyMissing: Its key is not in the settings.
        """
        found = _TYPE.fullmatch(kind)
        if found is None:
            self._check_plain(place)
            return kind, data
        return found[1], self._open(found[2], data, (*place, found[1]))

    def seal_json(self, value: Any, place: Place) -> Any:
        """Seal a JSON value; None stays None."""
        if self._writer is None or value is None:
            return value
        sealed = base64.b64encode(self._seal(_encode(value), place)).decode()
        return {MARK: f"{CIPHER}.{self._writer}.{sealed}"}

    def open_json(self, value: Any, place: Place) -> Any:
        """Open a JSON value; one that was stored in plain text is returned as it is.

        Raises:
            DecryptionFailed: It was changed or moved, or must not be plain text.
            EncryptionKeyMissing: Its key is not in the settings.
        """
        found = _sealed_text(value)
        if found is None:
            if value is not None:
                self._check_plain(place)
            return value
        try:
            data = base64.b64decode(found[2], validate=True)
        except binascii.Error as error:
            raise _failed(place) from error
        # Not orjson, which makes floats of large integers.
        return json.loads(self._open(found[1], data, place))

    def _seal(self, data: bytes, place: Place) -> bytes:
        assert self._writer is not None  # noqa: S101  # callers have checked it
        nonce = os.urandom(_NONCE)
        return nonce + self._ciphers[self._writer].encrypt(nonce, data, self._context(place))

    def _open(self, key_id: str, sealed: bytes, place: Place) -> bytes:
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise EncryptionKeyMissing.of(key_id)
        try:
            return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._context(place))
        except (InvalidTag, ValueError) as error:
            raise _failed(place) from error

    def _context(self, place: Place) -> bytes:
        return orjson.dumps((self._tenant, *place))

    def _check_plain(self, place: Place) -> None:
        if self._is_strict:
            raise DecryptionFailed(
                f"A stored {place[0]} is not encrypted",
                hint="run `bathysphere encryption rotate`, or unset BATHYSPHERE_ENCRYPTION_STRICT",
            )


class Encryption:
    """How contents are stored: the keys, and what is refused."""

    def __init__(
        self,
        keys: MasterKeys | None = None,
        *,
        is_strict: bool = False,
        indexes_messages: bool | None = None,
    ) -> None:
        """Create the encryption of a process.

        Args:
            keys: The operator's keys; None stores everything in plain text.
            is_strict: Whether values in plain text are refused.
            indexes_messages: Whether messages are also stored as plain text, for the search;
                default: only if nothing is encrypted.
        """
        self.keys = keys or MasterKeys()
        self.is_strict = is_strict and self.keys.writer is not None
        self.indexes_messages = (
            self.keys.writer is None if indexes_messages is None else indexes_messages
        )
        # The tenant's key is the same until the process ends.
        self.tenant = lru_cache(maxsize=_TENANTS)(self._tenant)

    @property
    def writer(self) -> str | None:
        """The id of the key that encrypts; None if values are stored in plain text."""
        return self.keys.writer.key_id if self.keys.writer is not None else None

    def _tenant(self, tenant: str) -> TenantCipher:
        return TenantCipher(tenant, self.keys, is_strict=self.is_strict)


NO_ENCRYPTION = Encryption()


def key_of(kind: str) -> str | None:
    """The id of the key that a serialized value's type names; None for plain text."""
    found = _TYPE.fullmatch(kind)
    return found[2] if found is not None else None


def json_key_of(value: Any) -> str | None:
    """The id of the key that a JSON value is sealed with; None for plain text."""
    found = _sealed_text(value)
    return found[1] if found is not None else None


def _sealed_text(value: Any) -> re.Match[str] | None:
    if not isinstance(value, Mapping) or len(value) != 1 or not isinstance(value.get(MARK), str):
        return None
    return _TEXT.fullmatch(value[MARK])


def _derive(key: MasterKey, tenant: str) -> bytes:
    info = _PURPOSE + tenant.encode()
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(key.secret)


def _encode(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # such as a number above 64 bits
        return json.dumps(value).encode()


def _failed(place: Place) -> DecryptionFailed:
    return DecryptionFailed(
        f"A stored {place[0]} cannot be decrypted",
        hint="it was changed or moved in the database: restore it from a backup",
    )
