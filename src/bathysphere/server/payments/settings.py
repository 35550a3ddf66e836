"""Settings of payments, from `BATHYSPHERE_PAYMENTS_…` environment variables.

By default payments are disabled and no wallet is needed.
"""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.core.settings import invalid_settings

PREFIX = "BATHYSPHERE_PAYMENTS_"
_MIN_SECRET = 32
_RATE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,12})? [A-Z]{3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SatValue:
    """The approximate value of a sat in a currency (ISO 4217), for display."""

    per_sat: float
    currency: str


class PaymentSettings(BaseSettings):
    """Settings of payments."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    mint: str | None = Field(
        default=None,
        description="URL of the mint whose e-cash is accepted; default: payments are disabled.",
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Master secret (at least 32 characters). If lost, funds are unrecoverable.",
    )
    price_step: NonNegativeInt = Field(default=1, description="Sats per model call.")
    price_1k_input: NonNegativeInt = Field(default=0, description="Sats per 1,000 input tokens.")
    price_1k_output: NonNegativeInt = Field(default=0, description="Sats per 1,000 output tokens.")
    reserved_output: PositiveInt = Field(
        default=4096,
        description="Output tokens charged before a call; unused ones are refunded.",
    )
    topup: PositiveInt = Field(default=100, description="Amount of a payment request, in sats.")
    rate: str | None = Field(
        default=None,
        description="Approximate value of a sat that the browser shows, such as `0.0006 EUR`.",
    )
    lock_hours: PositiveFloat = Field(
        default=48, description="Lock time that payment requests ask for."
    )
    min_lock_hours: PositiveFloat = Field(
        default=6, description="Minimum lock time that is accepted."
    )
    max_lock_hours: PositiveFloat = Field(
        default=30 * 24, description="Maximum lock time that is accepted."
    )
    close_before_hours: PositiveFloat = Field(
        default=1, description="A session closes this long before its first lock expires."
    )
    idle_hours: PositiveFloat = Field(
        default=24, description="A session closes after this time without use."
    )
    call_grace_minutes: PositiveFloat = Field(
        default=15, description="How long a closing session waits for a running model call."
    )
    sweep_seconds: PositiveFloat = Field(
        default=2, description="Interval at which a worker settles due payments."
    )
    audit_seconds: PositiveFloat = Field(
        default=300, description="Interval at which a process audits the ledger for its metrics."
    )
    mint_seconds: Annotated[float, Field(gt=0, le=120)] = Field(
        default=10, description="Timeout of requests to the mint."
    )

    @classmethod
    def from_environment(cls, **values: Any) -> Self:
        """Read the settings from the environment.

        Raises:
            ConfigError: A value is invalid; the message names the variable.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/payments.md") from error

    @field_validator("mint")
    @classmethod
    def _encrypted_or_local(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        is_local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("Expected the URL of a mint, such as https://mint.example")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise ValueError("The mint URL must use https (http is allowed on localhost)")
        return value.rstrip("/")

    @field_validator("rate")
    @classmethod
    def _amount_and_currency(cls, value: str | None) -> str | None:
        if value is not None and not _RATE.fullmatch(value):
            raise ValueError("Expected an amount and a currency code, such as 0.0006 EUR")
        if value is not None and float(value.split()[0]) == 0:
            raise ValueError("The value of a sat must be greater than zero")
        return value

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.mint is None:
            return self
        if self.secret is None or len(self.secret.get_secret_value()) < _MIN_SECRET:
            raise ValueError(f"Payments need {PREFIX}SECRET with at least {_MIN_SECRET} characters")
        if not (self.price_step or self.price_1k_input or self.price_1k_output):
            raise ValueError(
                f"Price must be greater than zero: set {PREFIX}PRICE_STEP, or unset {PREFIX}MINT"
            )
        if not self.close_before_hours < self.min_lock_hours <= self.lock_hours:
            raise ValueError("Lock times must be longer than the time a session needs to close")
        if self.lock_hours > self.max_lock_hours:
            raise ValueError("Requested lock time exceeds the maximum accepted")
        return self

    # ── derived values ──

    @property
    def is_on(self) -> bool:
        """Whether payments are enabled."""
        return self.mint is not None

    @property
    def origin(self) -> str:
        """The mint's origin, which the web app must be allowed to call."""
        parts = urlsplit(self.mint or "")
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def sat_value(self) -> SatValue | None:
        """What a sat is worth approximately; None if the operator does not say."""
        if self.rate is None:
            return None
        amount, currency = self.rate.split()
        return SatValue(per_sat=float(amount), currency=currency)

    @property
    def master(self) -> bytes:
        """The master secret, as bytes."""
        return self.secret.get_secret_value().encode() if self.secret is not None else b""

    def hours(self, name: str) -> timedelta:
        """A setting in hours, as a duration."""
        return timedelta(hours=getattr(self, f"{name}_hours"))
