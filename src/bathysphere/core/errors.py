"""The errors this package raises.

BathysphereError
├── ConfigError          the operator can fix it: settings, keys, a missing extra
│   └── ModelUnavailable   a model cannot be used as configured: no key, no server, no file
├── CallerError          the client can fix it: bad input, an unknown id
│   └── NotAllowed         the client may not do it
└── UpstreamError        neither can fix it now: a model, a mint or a store failed
    └── StorageLost        where the run itself is kept cannot be reached; the run is tried again

Each class has one stable `code`: the server turns it into a status, the command line into an exit
code and the web app into a sentence. Nothing may match on the text of a message.
"""

from typing import ClassVar


class BathysphereError(Exception):
    """The root: something went wrong, said in one sentence, with a `hint` on what to do."""

    code: ClassVar[str] = "bathysphere_error"
    ends_run: ClassVar[bool] = False
    """Whether a run must end by it, even where a tool raised it; else the model reads it."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(BathysphereError):
    """The operator can fix it: a setting, a key, a missing extra."""

    code = "config_error"


class ModelUnavailable(ConfigError):
    """A model cannot be used as configured: no key, no server, no file."""

    code = "model_unavailable"


class CallerError(BathysphereError):
    """The client can fix it: bad input, an unknown id."""

    code = "caller_error"


class NotAllowed(CallerError):
    """The client may not do it."""

    code = "not_allowed"


class UpstreamError(BathysphereError):
    """Neither side can fix it now: a model, a mint or a store failed."""

    code = "upstream_error"


class StorageLost(UpstreamError):
    """Where the run is kept cannot be reached: nothing a model or a tool could do about it."""

    code = "storage_lost"
    ends_run = True


def missing_extra(feature: str, extra: str) -> ConfigError:
    """The one sentence for a feature whose optional dependency is not installed."""
    return ConfigError(
        f"{feature} needs an optional dependency", hint=f'pip install "bathysphere[{extra}]"'
    )
