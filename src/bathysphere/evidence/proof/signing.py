"""Ed25519 signatures, with the `cryptography` package (extra `verify`)."""

import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.core.canonical import sha256
from bathysphere.core.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
"""Lower-case digits only, so that a signature has one spelling."""


class Signer:
    """Holds a private key and signs with it."""

    def __init__(self, seed: bytes) -> None:
        self._key = _private_key(seed)

    @classmethod
    def generate(cls) -> "Signer":
        """Create a signer with a new key."""
        return cls(secrets.token_bytes(32))

    @property
    def public_key(self) -> str:
        """The public key, in hex."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """Sign some bytes; returns the signature in hex."""
        return self._key.sign(data).hex()


def is_signed(data: bytes, public_key: str, signature: str) -> bool:
    """Whether the signature of these bytes was made with this key; both in lower-case hex."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not _KEY.fullmatch(public_key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """Return a short form of a key that people can compare by eye."""
    text = sha256(bytes.fromhex(public_key))[:24]
    return "-".join(text[at : at + 4] for at in range(0, 24, 4))


def read_key(path: Path) -> bytes:
    """Read a 32-byte key from a file, creating one that only its owner can read if missing.

    Raises:
        ConfigError: The file is not a valid key file, or cannot be read or created.
    """
    try:
        if not path.exists():
            _write_key(path)
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise ConfigError(f"Key file cannot be used: {path}: {error.strerror}") from error
    if not _KEY.fullmatch(text):
        raise ConfigError(
            f"{path} is not a valid key file: expected 64 hex digits",
            hint="delete it to generate a new key",
        )
    return bytes.fromhex(text)


def _write_key(path: Path) -> None:
    """Create the key file atomically; of two concurrent writers one wins, and both use its key."""
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
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)
