"""Encryption at rest: AES-256-GCM under a key derived from the operator's payments secret.

Each value is bound to its location (table and row), so a value moved to another row is rejected.
"""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bathysphere.payments.ledger.errors import Unsealable

_VERSION = b"\x01"
_NONCE = 12
_LABEL = b"bathysphere payments at rest 1"


class Sealer:
    """Encrypts and decrypts secrets stored in the database."""

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(hmac.new(secret, _LABEL, hashlib.sha256).digest())

    def seal(self, place: str, plain: bytes) -> bytes:
        """Encrypt a value for its location."""
        nonce = secrets.token_bytes(_NONCE)
        return _VERSION + nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, place: str, sealed: bytes) -> bytes:
        """Decrypt a value stored at this location.

        Raises:
            Unsealable: It was encrypted with another secret or for another location, or modified.
        """
        nonce, rest = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
        try:
            if sealed[:1] != _VERSION or len(nonce) != _NONCE:
                raise InvalidTag
            return self._cipher.decrypt(nonce, rest, place.encode())
        except InvalidTag as error:
            raise Unsealable(
                f"Cannot decrypt {place}",
                hint="set BATHYSPHERE_PAYMENTS_SECRET to the value the database was written with",
            ) from error
