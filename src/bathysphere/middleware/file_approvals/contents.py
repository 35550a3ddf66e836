"""The content of a file before a call, and what the call would make of it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bathysphere.backends.conditional import ABSENT
from bathysphere.backends.object_store.objects import Meta
from bathysphere.backends.object_store.rendering import replace_text

NOT_TEXT = "Error: the new text is not valid Unicode"
NO_FILE = "Error: file not found."
TOO_MANY = "Error: {path} has {count} files, more than a person can be shown. Delete its folders."
MAX_FOLDER_FILES = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """A path as it was found: a file, a folder to be deleted, or nothing."""

    version: str
    data: bytes | None
    below: Mapping[str, Meta] = field(default_factory=dict)
    """The files of a folder to be deleted."""

    @property
    def files(self) -> dict[str, str] | None:
        """The versions of a folder's files by path."""
        return {path: meta.version.token for path, meta in self.below.items()} or None


def after_call(name: str, args: Mapping[str, Any], seen: Seen) -> bytes | str | None:
    """The new content; None if deleted; a string explains why the change is impossible."""
    before = seen.data
    if name == "delete":
        if len(seen.below) > MAX_FOLDER_FILES:
            return TOO_MANY.format(path=args.get("file_path"), count=len(seen.below))
        return None if before is not None or seen.below else NO_FILE
    if name == "write_file":
        return str(args.get("content", "")).encode("utf-8", "replace")
    if before is None:
        return NO_FILE
    old, new = str(args.get("old_string", "")), str(args.get("new_string", ""))
    try:
        replaced = replace_text(before, old, new, bool(args.get("replace_all")))
    except UnicodeEncodeError:
        return NOT_TEXT
    return replaced if isinstance(replaced, str) else replaced[0]


def digest(data: bytes | None) -> str:
    """The SHA-256 of a content, or a word for none."""
    return ABSENT if data is None else hashlib.sha256(data).hexdigest()
