"""Folders in a store that has none: a path is a file or a folder, and a deletion is exact.

A bucket lets `reports` and `reports/q1.md` exist side by side. Writes refuse to make that so, and
a deletion never takes more than was asked for: one key, or the files that a person was shown.
"""

import hashlib
from collections.abc import Mapping

from bathysphere.backends.conditional import Expectation
from bathysphere.backends.object_store.objects import Meta, StoredObjects
from bathysphere.core.errors import CallerError
from bathysphere.tenancy.paths import is_sound
from bathysphere.tenancy.root import Root


class IsFolder(CallerError):
    """A folder has this path."""

    code = "is_a_folder"


class NotFolder(CallerError):
    """A file is where the path needs a folder."""

    code = "not_a_folder"


class FileAndFolder(CallerError):
    """The store has both a file and a folder of this path."""

    code = "file_and_folder"


def refuse_conflict(objects: StoredObjects, root: Root, key: str) -> None:
    """Check that a file can be stored under a key without becoming a folder's namesake.

    Raises:
        IsFolder: There are files below the key.
        NotFolder: A file has the name of a folder above the key.
    """
    start = len(root.prefix) + 1
    place = key.find("/", start)
    while place != -1:
        if objects.head(key[:place]) is not None:
            raise NotFolder(f"'{key[start - 1 : place]}' is a file, so nothing can be below it")
        place = key.find("/", place + 1)
    if _has_files(objects, key):
        raise IsFolder(f"'{key[start - 1 :]}' is a folder")


def _has_files(objects: StoredObjects, key: str) -> bool:
    top = objects.folder(key)
    if top.strange or any(meta.key.startswith(f"{key}/") for meta in top.metas):
        return True
    # Some stores go on listing a folder after its last file is gone.
    return any(objects.listing(folder).metas for folder in top.folders)


def files_below(objects: StoredObjects, root: Root, key: str) -> dict[str, Meta]:
    """The files of a folder by their paths, those that a path leads to."""
    inside = (meta for meta in objects.listing(key).metas if meta.key.startswith(f"{key}/"))
    return {path: meta for meta in inside if (path := root.path(meta.key)) is not None}


def literal_folders(pattern: str | None) -> list[str]:
    """The folders that every match of a glob is in."""
    folders = []
    for segment in (pattern or "").lstrip("/").split("/")[:-1]:
        if any(c in segment for c in "*?[]{}!") or not is_sound(segment):
            break
        folders.append(segment)
    return folders


def token_of(files: Mapping[str, Meta]) -> str:
    """One token for the versions of all files of a folder."""
    versions = "\n".join(f"{path} {meta.version.token}" for path, meta in sorted(files.items()))
    return hashlib.sha256(versions.encode()).hexdigest()


def describe_files(folder: str, files: Mapping[str, Meta]) -> str:
    """What is deleted with a folder, as a person reads it."""
    title = f"Delete the folder {folder} with {len(files)} files:"
    return "\n".join([title, *(f"{path} ({meta.size} bytes)" for path, meta in files.items())])


def keys_to_delete(
    objects: StoredObjects, root: Root, key: str, expectation: Expectation | None
) -> list[str] | None:
    """What a deletion removes, no more than its expectation names; None where that is stale.

    Raises:
        FileAndFolder: Without an expectation it is not clear which of the two is meant.
    """
    there = objects.head(key)
    if expectation is not None and expectation.files is None:
        is_same = there is not None and there.version.token == expectation.token
        return [key] if is_same else None
    below = files_below(objects, root, key)
    if expectation is not None:
        is_same = there is None and bool(below) and _are_shown(below, expectation.files or {})
        return [meta.key for meta in below.values()] if is_same else None
    if there is not None and below:
        path = root.path(key)
        raise FileAndFolder(
            f"'{path}' is a file and a folder", hint="delete the files in the folder one by one"
        )
    return [key] if there is not None else [meta.key for meta in below.values()]


def _are_shown(below: Mapping[str, Meta], shown: Mapping[str, str]) -> bool:
    """Whether each file was shown, in this version. Some may be gone: that is what was asked."""
    return all(shown.get(path) == meta.version.token for path, meta in below.items())
