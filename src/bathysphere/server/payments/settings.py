"""How use is paid for: read once at the edge, from `BATHYSPHERE_PAYMENTS_…` variables.

Nothing set means that nothing is charged and nothing needs a wallet.
"""

import re
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

from bathysphere.server.settings import unusable

PREFIX = "BATHYSPHERE_PAYMENTS_"
_MIN_SECRET = 32


class PaymentSettings(BaseSettings):
    """Everything an operator can change about payments."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    mint: str | None = Field(
        default=None,
        description="The address of the one mint whose e-cash is taken; not set: nothing is paid.",
    )
    secret: SecretStr | None = Field(
        default=None,
        description="At least 32 characters from which all keys are made. Lost, money is lost.",
    )
    price_step: NonNegativeInt = Field(default=1, description="Sats for each model call.")
    price_1k_input: NonNegativeInt = Field(
        default=0, description="Sats for a thousand tokens that go to the model."
    )
    price_1k_output: NonNegativeInt = Field(
        default=0, description="Sats for a thousand tokens that the model answers."
    )
    reserved_output: PositiveInt = Field(
        default=4096,
        description="Tokens of answer that are charged before a call; what is not used goes back.",
    )
    topup: PositiveInt = Field(default=100, description="Sats that a payment request asks for.")
    lock_hours: PositiveFloat = Field(
        default=48, description="How long a payment request asks deposits to be locked."
    )
    min_lock_hours: PositiveFloat = Field(default=6, description="The shortest lock that is taken.")
    max_lock_hours: PositiveFloat = Field(
        default=30 * 24, description="The longest lock that is taken."
    )
    close_before_hours: PositiveFloat = Field(
        default=1, description="How long before the first lock ends a session closes by itself."
    )
    idle_hours: PositiveFloat = Field(
        default=24, description="How long nobody uses a session before it closes by itself."
    )
    call_grace_minutes: PositiveFloat = Field(
        default=15, description="How long a closing session waits for a model call under way."
    )
    sweep_seconds: PositiveFloat = Field(
        default=2, description="How often a worker looks for what is to be settled."
    )
    mint_seconds: Annotated[float, Field(gt=0, le=120)] = Field(
        default=10, description="How long the mint may take to answer."
    )

    @classmethod
    def from_environment(cls, **given: Any) -> Self:
        """Read the settings.

        Raises:
            ConfigError: A value cannot be used; one sentence, naming the variable.
        """
        try:
            return cls(**given)
        except ValidationError as error:
            raise unusable(error, prefix=PREFIX, guide="docs/payments.md") from error

    @field_validator("mint")
    @classmethod
    def _encrypted_or_local(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        is_local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("give the address of a mint, such as https://mint.example")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise ValueError("a mint is asked over https, or on this machine")
        return re.sub(r"/+$", "", value)

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.mint is None:
            return self
        if self.secret is None or len(self.secret.get_secret_value()) < _MIN_SECRET:
            raise ValueError(f"payments need {PREFIX}SECRET with at least {_MIN_SECRET} characters")
        if not (self.price_step or self.price_1k_input or self.price_1k_output):
            raise ValueError(f"a price of nothing: set {PREFIX}PRICE_STEP, or unset {PREFIX}MINT")
        if not self.close_before_hours < self.min_lock_hours <= self.lock_hours:
            raise ValueError("a lock must outlast what a session needs to close")
        if self.lock_hours > self.max_lock_hours:
            raise ValueError("payment requests ask for a longer lock than is taken")
        return self

    # ── answers ──

    @property
    def is_on(self) -> bool:
        """Whether anything is paid for."""
        return self.mint is not None

    @property
    def origin(self) -> str:
        """The mint's origin, which the web app must be allowed to call."""
        parts = urlsplit(self.mint or "")
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def master(self) -> bytes:
        """The secret, as bytes."""
        return self.secret.get_secret_value().encode() if self.secret is not None else b""

    def hours(self, name: str) -> timedelta:
        """A setting in hours."""
        return timedelta(hours=getattr(self, f"{name}_hours"))
