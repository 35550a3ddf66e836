"""Workspaces over HTTP: which a caller may use, their files, the record of changes, undo."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from deepagents.backends.protocol import FileInfo
from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.backends.object_store import (
    ABSENT,
    BucketConfig,
    ObjectStoreBackend,
    expecting,
    open_bucket,
)
from bathysphere.backends.object_store.objects import StoredObjects
from bathysphere.core.errors import CallerError, ConfigError, UpstreamError
from bathysphere.engine.file_changes import FileChanges, RecordedChange
from bathysphere.engine.records import Owner
from bathysphere.middleware.workspace import RunRoot
from bathysphere.tenancy.changes import difference
from bathysphere.tenancy.directory import Directory, Identity, Tenant
from bathysphere.tenancy.root import Root


class NoStorage(CallerError):
    """This server has no object store."""

    code = "no_storage"


class FileNotThere(CallerError):
    """The workspace has no such file."""

    code = "file_not_found"


class CannotUndo(CallerError):
    """The change cannot be taken back as things are now."""

    code = "cannot_undo"


class StorageSettings(BaseSettings):
    """Where workspaces are kept; nothing set means that there are none."""

    model_config = SettingsConfigDict(env_prefix="BATHYSPHERE_STORAGE_", extra="ignore")

    kind: Literal["gcs", "s3", "azure", "local", "memory"] | None = Field(
        default=None, description="The object store; not set: no workspaces."
    )
    bucket: str = Field(
        default="",
        validation_alias=AliasChoices("BATHYSPHERE_STORAGE_BUCKET", "GCS_BUCKET_NAME"),
        description="The bucket or container.",
    )
    endpoint: str | None = Field(default=None, description="Another address than the provider's.")
    region: str = Field(default="us-east-1", description="S3's region.")
    access_key: str | None = Field(default=None, description="S3's key id, or Azure's account.")
    secret_key: SecretStr | None = Field(
        default=None, description="S3's secret key, or Azure's account key."
    )
    service_account_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(
            "BATHYSPHERE_STORAGE_SERVICE_ACCOUNT_KEY", "GOOGLE_CLOUD_CREDENTIALS_JSON"
        ),
        description="Google's service account key, as JSON.",
    )
    folder: Path | None = Field(default=None, description="Where a local one keeps its objects.")
    tenants: Path | None = Field(
        default=None,
        description="The tenants, as TOML (docs/tenancy.md); not set: one workspace `main` each.",
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings."""
        return cls()


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspaces:
    """The bucket, and who may use which part of it."""

    directory: Directory
    bucket: StoredObjects

    @classmethod
    def open(cls, settings: StorageSettings) -> Self | None:
        """What the settings say; None where they say nothing.

        Raises:
            ConfigError: The bucket or the tenants cannot be used.
        """
        if settings.kind is None:
            return None
        config = BucketConfig(
            kind=settings.kind,
            name=settings.bucket,
            endpoint=settings.endpoint,
            region=settings.region,
            access_key=settings.access_key,
            secret_key=_secret(settings.secret_key),
            service_account_key=_secret(settings.service_account_key),
            folder=settings.folder,
        )
        return cls(directory=_directory(settings.tenants), bucket=open_bucket(config))

    def agent_files(self) -> ObjectStoreBackend:
        """The files as runs see them: each in the root of its own caller."""
        return ObjectStoreBackend(self.bucket, RunRoot(self.directory), quota=self.directory.quota)

    def root(self, owner: Owner, workspace: str | None) -> Root:
        """The root of a workspace that the owner may use.

        Raises:
            NotAllowed: They may not, or it is not there; the words are the same.
        """
        return self.directory.root(Identity(tenant=owner.tenant, user=owner.user), workspace)

    def names(self, owner: Owner) -> tuple[str, ...]:
        """The workspaces that the owner may use."""
        return self.directory.workspaces(Identity(tenant=owner.tenant, user=owner.user))

    def files(self, owner: Owner, workspace: str) -> ObjectStoreBackend:
        """The files of one workspace."""
        root = self.root(owner, workspace)
        return ObjectStoreBackend(self.bucket, root, quota=self.directory.quota)

    def run_quota(self, tenant: str) -> int | None:
        """How many runs a tenant may have at a time."""
        return self.directory.quota(tenant).runs


async def undo(
    workspaces: Workspaces, changes: FileChanges, owner: Owner, workspace: str, change_id: int
) -> None:
    """Put a file back to what it was before a change, if nothing happened to it since.

    Raises:
        CannotUndo: The file changed since, or its earlier content was not kept.
        ChangeNotFound: There is no such change in this workspace.
    """
    files = workspaces.files(owner, workspace)
    change = await changes.get(owner, workspace, change_id)
    now = await asyncio.to_thread(files.seen, change.path)
    _refuse_undo(change, now)
    with expecting(change.path, change.after_version or ABSENT) as expected:
        error = await asyncio.to_thread(_put_back, files, change)
    if expected.was_refused:
        raise _changed_since()
    if error is not None:
        raise UpstreamError(error)
    after = await asyncio.to_thread(files.seen, change.path)
    await changes.undone(
        owner,
        change,
        before=now[1] if now else None,
        after_version=after[0] if after else ABSENT,
    )


async def undoing(
    workspaces: Workspaces, changes: FileChanges, owner: Owner, workspace: str, change_id: int
) -> dict[str, Any]:
    """A change, and what undoing it now would do to the file, or why it cannot be undone.

    Raises:
        ChangeNotFound: There is no such change in this workspace.
    """
    files = workspaces.files(owner, workspace)
    change = await changes.get(owner, workspace, change_id)
    now = await asyncio.to_thread(files.seen, change.path)
    try:
        _refuse_undo(change, now)
    except CannotUndo as error:
        return {**change_json(change), "diff": None, "refusal": str(error)}
    diff = difference(change.path, now[1] if now else None, change.before)
    return {**change_json(change), "diff": diff, "refusal": None}


def _refuse_undo(change: RecordedChange, now: tuple[str, bytes] | None) -> None:
    if change.undone_by is not None:
        raise CannotUndo("this change was undone already")
    if change.before is None and change.before_version != ABSENT:
        raise CannotUndo("what the file held before was too large to be kept")
    if (now[0] if now else ABSENT) != (change.after_version or ABSENT):
        raise _changed_since()


def _changed_since() -> CannotUndo:
    return CannotUndo("the file was changed since", hint="undo the newer change first")


def _put_back(files: ObjectStoreBackend, change: RecordedChange) -> str | None:
    if change.before is None:
        return files.delete(change.path).error
    return files.restore(change.path, change.before).error


def change_json(change: RecordedChange) -> dict[str, Any]:
    """A change as clients read it."""
    return {
        "change_id": change.change_id,
        "path": change.path,
        "action": change.action,
        "asked_by": change.asked_by,
        "approver": change.approver,
        "thread_id": str(change.thread_id) if change.thread_id else None,
        "run_id": str(change.run_id) if change.run_id else None,
        "before_version": change.before_version,
        "after_version": change.after_version,
        "undoes": change.undoes,
        "undone_by": change.undone_by,
        "at": change.finished_at.isoformat() if change.finished_at else None,
    }


def page(entries: list[FileInfo], *, after: str, limit: int) -> tuple[list[FileInfo], str | None]:
    """Some entries, folders first, and after which the next page begins; None: no more."""
    rest = [e for e in entries if not after or _place(e["path"]) > _place(after)]
    rest.sort(key=lambda entry: _place(entry["path"]))
    shown = rest[:limit]
    return shown, shown[-1]["path"] if len(rest) > limit else None


def _place(path: str) -> tuple[bool, str]:
    return not path.endswith("/"), path


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None


def _directory(path: Path | None) -> Directory:
    if path is None:
        return Directory(others=Tenant())
    try:
        return Directory.from_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the tenants cannot be read: {error}") from error
