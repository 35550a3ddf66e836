"""Ed25519 signatures, by the `cryptography` package (extra `verify`)."""

import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.core.canonical import sha256
from bathysphere.core.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
"""Small digits alone, so that a signature has one spelling."""


class Signer:
    """Holds a private key and signs with it."""

    def __init__(self, seed: bytes) -> None:
        self._key = _private_key(seed)

    @classmethod
    def generate(cls) -> "Signer":
        """A signer with a fresh key."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def from_file(cls, path: Path) -> "Signer":
        """The signer of a file that holds a key as 64 hex digits; made there if it is not there.

        Raises:
            ConfigError: the file holds something else.
        """
        if not path.exists():
            _write_key(path)
        text = path.read_text(encoding="ascii", errors="replace").strip()
        if not _KEY.fullmatch(text):
            raise ConfigError(f"{path} holds no signing key", hint="64 hex digits, or no file")
        return cls(bytes.fromhex(text))

    @property
    def public_key(self) -> str:
        """The public key, in hex."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """The signature of some bytes, in hex."""
        return self._key.sign(data).hex()


def is_signed(data: bytes, public_key: str, signature: str) -> bool:
    """Whether a signature of these bytes is by this key; both in small hex digits."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise missing_extra("Checking signatures", "verify") from error

    if not _KEY.fullmatch(public_key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """A short name of a key that people can compare by eye."""
    text = sha256(bytes.fromhex(public_key))[:24]
    return "-".join(text[at : at + 4] for at in range(0, 24, 4))


def _write_key(path: Path) -> None:
    """Put a fresh key there whole; of two who do so at once, one wins and both use its key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600, exist_ok=False)
    try:
        draft.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def _private_key(seed: bytes) -> "Ed25519PrivateKey":
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise missing_extra("Signing", "verify") from error

    return Ed25519PrivateKey.from_private_bytes(seed)
