"""The error of a policy that cannot be used."""

from bathysphere.core.errors import ConfigError


class BadPolicy(ConfigError):
    """POLICY.md is invalid."""

    code = "bad_policy"
