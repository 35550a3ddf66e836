"""Folders in an object store: a path is either a file or a folder, and deletions are exact.

A bucket allows both `reports` and `reports/q1.md`. Writes refuse to create such a conflict, and a
deletion never removes more than requested: one key, or the files that a person was shown.
"""

import hashlib
from collections.abc import Mapping

from bathysphere.backends.conditional import Expectation
from bathysphere.backends.object_store.objects import Meta, StoredObjects
from bathysphere.core.errors import CallerError
from bathysphere.tenancy.paths import is_sound
from bathysphere.tenancy.root import Root


class IsFolder(CallerError):
    """The path is a folder."""

    code = "is_a_folder"


class NotFolder(CallerError):
    """A parent of the path is a file."""

    code = "not_a_folder"


class FileAndFolder(CallerError):
    """The path is both a file and a folder."""

    code = "file_and_folder"


def refuse_conflict(objects: StoredObjects, root: Root, key: str) -> None:
    """Check that storing a file under a key does not conflict with a folder.

    Raises:
        IsFolder: The key is a folder with files.
        NotFolder: A parent folder of the key is a file.
    """
    start = len(root.prefix) + 1
    place = key.find("/", start)
    while place != -1:
        if objects.head(key[:place]) is not None:
            raise NotFolder(f"'{key[start - 1 : place]}' is a file, not a folder")
        place = key.find("/", place + 1)
    if _has_files(objects, key):
        raise IsFolder(f"'{key[start - 1 :]}' is a folder")


def _has_files(objects: StoredObjects, key: str) -> bool:
    top = objects.folder(key)
    if top.strange or any(meta.key.startswith(f"{key}/") for meta in top.metas):
        return True
    # Some stores still list a folder after its last file was deleted.
    return any(objects.listing(folder).metas for folder in top.folders)


def files_below(objects: StoredObjects, root: Root, key: str) -> dict[str, Meta]:
    """Return the files of a folder by path; invalid keys are left out."""
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
    """Return one token for the versions of all files of a folder."""
    versions = "\n".join(f"{path} {meta.version.token}" for path, meta in sorted(files.items()))
    return hashlib.sha256(versions.encode()).hexdigest()


def describe_files(folder: str, files: Mapping[str, Meta]) -> str:
    """List the files that are deleted with a folder, for a person to read."""
    title = f"Delete the folder {folder} with {len(files)} files:"
    return "\n".join([title, *(f"{path} ({meta.size} bytes)" for path, meta in files.items())])


def keys_to_delete(
    objects: StoredObjects, root: Root, key: str, expectation: Expectation | None
) -> list[str] | None:
    """Return the keys to delete, at most those expected; None if the expectation is stale.

    Raises:
        FileAndFolder: The path is ambiguous and there is no expectation.
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
    """Whether each file was shown at this version. Files that are already gone do not matter."""
    return all(shown.get(path) == meta.version.token for path, meta in below.items())
