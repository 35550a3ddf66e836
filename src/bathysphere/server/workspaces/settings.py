"""Settings of the workspaces, from `BATHYSPHERE_STORAGE_…` environment variables."""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.core.settings import invalid_settings

PREFIX = "BATHYSPHERE_STORAGE_"


class StorageSettings(BaseSettings):
    """The object store of workspaces; by default there are none."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")

    kind: Literal["gcs", "s3", "azure", "local", "memory"] | None = Field(
        default=None, description="Kind of object store; default: no workspaces."
    )
    bucket: str = Field(
        default="",
        validation_alias=AliasChoices("BATHYSPHERE_STORAGE_BUCKET", "GCS_BUCKET_NAME"),
        description="Name of the bucket or container.",
    )
    endpoint: str | None = Field(default=None, description="Endpoint URL; default: the provider's.")
    region: str = Field(default="us-east-1", description="S3 region.")
    access_key: str | None = Field(default=None, description="S3 access key id, or Azure account.")
    secret_key: SecretStr | None = Field(
        default=None, description="S3 secret key, or Azure account key."
    )
    service_account_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices(
            "BATHYSPHERE_STORAGE_SERVICE_ACCOUNT_KEY", "GOOGLE_CLOUD_CREDENTIALS_JSON"
        ),
        description="Google service account key, as JSON.",
    )
    folder: Path | None = Field(default=None, description="Folder of a local object store.")
    tenants: Path | None = Field(
        default=None,
        description="Tenants file (TOML, see docs/tenancy.md); default: one workspace `main` each.",
    )

    @model_validator(mode="after")
    def _bucket_name_means_gcs(self) -> Self:
        """Default to Google Cloud Storage if only the bucket is set, as in seed 003."""
        if self.kind is None and self.bucket:
            self.kind = "gcs"
        return self

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings from the environment.

        Raises:
            ConfigError: A value is invalid; the message names the variable.
        """
        try:
            return cls()
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/object-store.md") from error

    @property
    def summary(self) -> str:
        """The storage and its tenants, in one line."""
        if self.kind is None:
            return "none (set BATHYSPHERE_STORAGE_KIND to store team files)"
        place = self.bucket or str(self.folder or "")
        tenants = f"tenants from {self.tenants}" if self.tenants else "one workspace `main` each"
        return f"{' '.join(filter(None, (self.kind, place)))}, {tenants}"
