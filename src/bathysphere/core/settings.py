"""The error for an invalid setting, the same for all settings of the package."""

from pydantic import ValidationError

from bathysphere.core.errors import ConfigError


def invalid_settings(error: ValidationError, *, prefix: str, guide: str) -> ConfigError:
    """Convert the first validation error to a `ConfigError` that names the variable.

    Args:
        error: The error of a settings class.
        prefix: The prefix of its variables; a field read from another variable has its full name.
        guide: The document to refer to if the error is not about a single variable.
    """
    first = error.errors(include_input=False)[0]
    reason = str(first["msg"]).removeprefix("Value error, ")
    if not first["loc"]:
        return ConfigError(reason, hint=f"see {guide}")
    field = str(first["loc"][0])
    variable = field if field.isupper() else f"{prefix}{field}".upper()
    return ConfigError(f"Invalid {variable}: {reason}", hint=f"change or unset {variable}")
