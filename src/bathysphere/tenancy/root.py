"""Workspace roots: the part of a bucket that belongs to one workspace of one tenant."""

import re
from dataclasses import dataclass

from bathysphere.tenancy.errors import InvalidPath, InvalidRoot
from bathysphere.tenancy.paths import MAX_KEY_BYTES, canonical, canonical_folder

_COMPONENT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """The prefix of a workspace's keys: `<tenant>/<workspace>/`."""

    tenant: str
    workspace: str

    def __post_init__(self) -> None:
        for what, name in (("tenant", self.tenant), ("workspace", self.workspace)):
            if not isinstance(name, str) or not _COMPONENT.match(name):
                raise InvalidRoot(
                    f"This {what} has no storage: its name cannot be part of a key",
                    hint="use 1 to 64 letters, digits, - or _, with a letter or digit at both ends",
                )

    @property
    def prefix(self) -> str:
        """The root as a key, without a trailing slash. No file may have this key."""
        return f"{self.tenant}/{self.workspace}"

    def key(self, path: str) -> str:
        """Return the key of a file.

        Raises:
            InvalidPath: No file may have this path.
        """
        return self._within(canonical(path))

    def folder_key(self, path: str) -> str:
        """Return the prefix of a folder's keys, without a trailing slash; `/` is the root itself.

        Raises:
            InvalidPath: No folder may have this path.
        """
        folder = canonical_folder(path)
        return self.prefix if folder == "/" else self._within(folder)

    def path(self, key: str) -> str | None:
        """Return the path of a key of this root; None if the key is foreign or not a valid path."""
        path = key.removeprefix(self.prefix)
        if path == key or not path.startswith("/"):
            return None
        try:
            return path if canonical(path) == path else None
        except InvalidPath:
            return None

    def _within(self, path: str) -> str:
        key = self.prefix + path
        if len(key.encode()) > MAX_KEY_BYTES:
            raise InvalidPath(f"The path is too long for a key of {MAX_KEY_BYTES} bytes")
        return key
