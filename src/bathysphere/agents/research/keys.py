"""The operator's key in a file of their own."""

import contextlib
import os
import secrets
from pathlib import Path

from bathysphere.core.errors import ConfigError


def read_key(path: Path) -> bytes:
    """The 32 bytes in a file that only its owner can read, made when it is not there.

    Raises:
        ConfigError: The file holds something else, or cannot be read or made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be used as a key: {error}", hint="remove it") from error
    if len(key) != 32:
        raise ConfigError(f"{path} holds no key", hint="64 hex digits, or no file")
    return key
