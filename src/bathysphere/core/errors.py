"""The errors this package raises.

BathysphereError
├── ConfigError          the operator can fix it: settings, keys, a missing extra
│   └── ModelUnavailable   a model cannot be used as configured: no key, no server, no file
├── CallerError          the client can fix it: bad input, an unknown id
│   └── NotAllowed         the client may not do it
└── UpstreamError        neither can fix it now: a model, a mint or a store failed
    ├── RequestRefused     a model's provider does not take a request of this form
    └── StorageLost        where the run itself is kept cannot be reached; the run is tried again

Each class has one stable `code`: the server turns it into a status, the command line into an exit
code and the web app into a sentence. Nothing may match on the text of a message.
"""

from typing import ClassVar


class BathysphereError(Exception):
    """Base class: a one-sentence message, and a `hint` on how to fix the problem."""

    code: ClassVar[str] = "bathysphere_error"
    ends_run: ClassVar[bool] = False
    """Whether the error ends the run even if a tool raised it; otherwise the model reads it."""

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


class RequestRefused(UpstreamError):
    """A model's provider rejects requests of this form, such as one with a schema."""

    code = "request_refused"


class StorageLost(UpstreamError):
    """The run's storage is unreachable; a model or tool cannot fix that."""

    code = "storage_lost"
    ends_run = True


def missing_extra(feature: str, extra: str) -> ConfigError:
    """Create the error for a feature whose optional dependency is not installed."""
    return ConfigError(
        f"{feature} needs an optional dependency", hint=f'pip install "bathysphere[{extra}]"'
    )
