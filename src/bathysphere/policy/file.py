"""A POLICY.md on disk: which one applies, and its bounded text."""

from pathlib import Path

from bathysphere.core.errors import ConfigError
from bathysphere.policy.errors import BadPolicy
from bathysphere.policy.rules import Policy, read_policy

NAME = "POLICY.md"
MAX_BYTES = 100_000


def local_policy_file() -> Path | None:
    """Return the POLICY.md of the working directory, if there is one.

    For commands that a person runs for themselves. A server serves others, and uses only the file
    that its settings name.
    """
    path = Path(NAME)
    return path if path.is_file() else None


def read_policy_file(path: Path, *, hint: str) -> Policy:
    """Parse the policy in a file.

    Args:
        path: The file.
        hint: What to do if it cannot be read.

    Raises:
        ConfigError: The file cannot be read.
        BadPolicy: It is too large, not text, or not a policy.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}", hint=hint) from error
    if len(data) > MAX_BYTES:
        raise BadPolicy(f"{path} has more than {MAX_BYTES:,} bytes", hint="shorten it")
    try:
        return read_policy(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{path} is not text in UTF-8", hint="save it as UTF-8") from error
    except BadPolicy as error:
        raise BadPolicy(f"{path}: {error.message}", hint=error.hint) from error
