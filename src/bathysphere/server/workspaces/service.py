"""Workspaces of the object store: access, files and quotas."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from bathysphere.backends.object_store import (
    BucketConfig,
    ObjectStoreBackend,
    open_bucket,
)
from bathysphere.backends.object_store.objects import StoredObjects
from bathysphere.core.errors import CallerError, ConfigError
from bathysphere.core.identity import Owner
from bathysphere.middleware.workspace import RunRoot
from bathysphere.server.workspaces.settings import PREFIX, StorageSettings
from bathysphere.tenancy.directory import Directory, Tenant
from bathysphere.tenancy.root import Root


class NoStorage(CallerError):
    """This server has no object store."""

    code = "no_storage"


class WorkspaceFileNotFound(CallerError):
    """The workspace has no such file."""

    code = "file_not_found"


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspaces:
    """The bucket, and the access of tenants and users to it."""

    directory: Directory
    bucket: StoredObjects

    @classmethod
    def open(cls, settings: StorageSettings) -> Self | None:
        """Open the configured bucket; None if no storage is configured.

        Raises:
            ConfigError: The bucket or the tenants file is invalid.
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
        return cls(directory=read_directory(settings.tenants), bucket=open_bucket(config))

    def agent_files(self) -> ObjectStoreBackend:
        """The files for runs, each rooted in its caller's workspace."""
        return ObjectStoreBackend(self.bucket, RunRoot(self.directory), quota=self.directory.quota)

    def root(self, owner: Owner, workspace: str | None) -> Root:
        """Return the root of one of the owner's workspaces.

        Raises:
            NotAllowed: It does not exist or is not accessible; the message is the same.
        """
        return self.directory.root(owner, workspace)

    def names(self, owner: Owner) -> tuple[str, ...]:
        """The owner's workspaces."""
        return self.directory.workspaces(owner)

    def files(self, owner: Owner, workspace: str) -> ObjectStoreBackend:
        """The files of one workspace."""
        root = self.root(owner, workspace)
        return ObjectStoreBackend(self.bucket, root, quota=self.directory.quota)

    def run_quota(self, tenant: str) -> int | None:
        """The tenant's limit of concurrent runs."""
        return self.directory.quota(tenant).runs


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value is not None else None


def read_directory(path: Path | None) -> Directory:
    """Read the tenants file; without one, every tenant has one workspace.

    Raises:
        ConfigError: It is missing or invalid.
    """
    if path is None:
        return Directory(others=Tenant())
    try:
        return Directory.from_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"Tenants file cannot be read: {path}: {error.strerror}",
            hint=f"change or unset {PREFIX}TENANTS",
        ) from error
