"""The model and provider keys that the person at this machine chose, in a file only they can read.

What the environment sets always wins: the file fills gaps.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bathysphere.core.errors import ConfigError
from bathysphere.models.hosted import KNOWN
from bathysphere.models.settings import ModelSettings

FILE = "model.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChoice:
    """A main model, and keys by provider."""

    model: str | None = None
    keys: Mapping[str, SecretStr] = field(default_factory=dict)

    def apply(self, environment: ModelSettings) -> ModelSettings:
        """The settings with this choice where the environment sets nothing."""
        filled: dict[str, Any] = {
            KNOWN[provider].key: key
            for provider, key in self.keys.items()
            if not is_key_set(provider, environment)
        }
        if self.model is not None and not is_model_set(environment):
            filled["main"] = self.model
        return environment.model_copy(update=filled)


def is_model_set(environment: ModelSettings) -> bool:
    """Whether the environment chooses the main model."""
    return environment.choice("main").source != "default"


def is_key_set(provider: str, settings: ModelSettings) -> bool:
    """Whether a provider has a key."""
    return bool(getattr(settings, KNOWN[provider].key))


def read_choice(path: Path) -> StoredChoice:
    """Read the file; without one, nothing is chosen.

    Raises:
        ConfigError: The file cannot be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        keys = {name: SecretStr(str(content["keys"][name])) for name in content["keys"]}
        model = content["model"]
        if not isinstance(model, str | None) or not keys.keys() <= KNOWN.keys():
            message = "unknown content"
            raise ValueError(message)
    except FileNotFoundError:
        return StoredChoice()
    except (OSError, ValueError, TypeError, KeyError) as error:
        # Not chained: a parser's message may quote a key.
        raise ConfigError(
            f"The chosen model cannot be read: {path} ({type(error).__name__})",
            hint="delete the file, and choose the model again in the browser's settings",
        ) from None
    return StoredChoice(model=model, keys=keys)


def write_choice(path: Path, choice: StoredChoice) -> None:
    """Replace the file at once; it is never readable for others, not even for a moment.

    Raises:
        ConfigError: It cannot be written.
    """
    keys = {name: key.get_secret_value() for name, key in choice.keys.items()}
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(json.dumps({"model": choice.model, "keys": keys}), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ConfigError(f"Cannot write {path}: {error.strerror}") from error
