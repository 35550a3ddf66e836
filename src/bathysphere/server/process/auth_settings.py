"""Settings of authentication, a part of the server's settings."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.server.process.addresses import is_encrypted_or_local

PREFIX = "BATHYSPHERE_"
AuthMode = Literal["anonymous", "api-key", "oidc", "project"]

ASYMMETRIC = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""Accepted signature algorithms. A public key must never be used as a shared secret."""


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Comma-separated values."""


class AuthSettings(BaseSettings):
    """How callers prove who they are."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    auth: Annotated[tuple[AuthMode, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=("anonymous",),
        description="`anonymous`, `project`, or `api-key` and/or `oidc`, comma-separated.",
    )
    allow_anonymous_anywhere: bool = Field(
        default=False,
        description="Allow `anonymous` on a public address. All callers share one user.",
    )
    oidc_issuer: str | None = Field(
        default=None,
        description="Required issuer (`iss`) of tokens; its keys are discovered there.",
    )
    oidc_audience: str | None = Field(
        default=None, description="Required audience (`aud`) of tokens."
    )
    oidc_jwks_url: str | None = Field(
        default=None, description="URL of the issuer's keys; default: discovered from the issuer."
    )
    oidc_algorithms: Names = Field(
        default=("RS256", "ES256", "EdDSA"),
        description="Accepted signature algorithms; asymmetric only.",
    )
    oidc_user_claim: str = Field(default="sub", description="Claim that contains the user.")
    oidc_tenant_claim: str | None = Field(
        default=None, description="Claim that contains the tenant; default: `oidc_tenant` for all."
    )
    oidc_tenant: str = Field(
        default="default", description="Tenant of all users if no tenant claim is set."
    )
    oidc_client_id: str | None = Field(
        default=None,
        description="Client id of the browser app at the issuer; turns on sign-in.",
    )
    oidc_scopes: Names = Field(
        default=("openid",), description="Scopes that the browser app asks for; with `openid`."
    )
    oidc_admin_claim: str | None = Field(
        default=None, description="Claim that makes a user an administrator; default: nobody is."
    )
    oidc_admin_value: str = Field(
        default="admin", description="Value that this claim must have, or contain if it is a list."
    )

    @field_validator("auth")
    @classmethod
    def _check_auth(cls, value: tuple[AuthMode, ...]) -> tuple[AuthMode, ...]:
        if not value:
            raise ValueError("Name at least one of anonymous, api-key, oidc, project")
        for alone in ("anonymous", "project"):
            if alone in value and len(value) > 1:
                raise ValueError(f"`{alone}` cannot be combined with other methods")
        return value

    @field_validator("oidc_algorithms")
    @classmethod
    def _asymmetric_only(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [name for name in value if name not in ASYMMETRIC]
        if wrong or not value:
            unknown = ", ".join(wrong) or "none"
            raise ValueError(f"Unsupported: {unknown}. Choose from {', '.join(ASYMMETRIC)}")
        return value

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _encrypted_or_local(cls, value: str | None) -> str | None:
        if value is None or is_encrypted_or_local(value):
            return value
        raise ValueError("The URL must use https (http is allowed on localhost)")

    @model_validator(mode="after")
    def _check_oidc(self) -> Self:
        if "oidc" in self.auth and not (self.oidc_issuer and self.oidc_audience):
            raise ValueError(f"`oidc` needs {PREFIX}OIDC_ISSUER and {PREFIX}OIDC_AUDIENCE")
        return self

    @property
    def is_anonymous(self) -> bool:
        """Whether authentication is off."""
        return "anonymous" in self.auth
