"""The operator's setting of memory, read from `BATHYSPHERE_MEMORIES` once at startup."""

from typing import Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.core.settings import invalid_settings
from bathysphere.middleware.memories.notes import MemoryMode

PREFIX = "BATHYSPHERE_"


class MemorySettings(BaseSettings):
    """Whether agents keep notes about people."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    memories: MemoryMode = Field(
        default="opt-in",
        description="Notes about people: none, off until a person turns them on, or on until "
        "they turn them off.",
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the setting; an invalid value is a `ConfigError`."""
        try:
            return cls()
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/memories.md") from error
