"""An invalid setting is reported with the name of its variable."""

import pytest
from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.core.settings import invalid_settings


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")

    size: int = 1
    key: int = Field(default=1, validation_alias="OTHER_KEY")

    @model_validator(mode="after")
    def _check_size(self):
        if self.size > 9:
            raise ValueError("size and key do not match")
        return self


@pytest.mark.parametrize(
    ("variable", "value", "message", "hint"),
    [
        ("APP_SIZE", "x", "Invalid APP_SIZE: Input should be", "change or unset APP_SIZE"),
        ("OTHER_KEY", "x", "Invalid OTHER_KEY: Input should be", "change or unset OTHER_KEY"),
        ("APP_SIZE", "10", "size and key do not match", "see docs/app.md"),
    ],
)
def test_the_error_names_the_variable_or_the_guide(monkeypatch, variable, value, message, hint):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError) as caught:
        Settings()
    error = invalid_settings(caught.value, prefix="APP_", guide="docs/app.md")
    assert error.message.startswith(message)
    assert error.hint == hint
