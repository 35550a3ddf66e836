"""Payment errors.

TokenRefused   a token was not accepted as a deposit; `reason` is a machine-readable cause
MintRefused    the mint definitely refused: an HTTP 400 with its error code
MintUnknown    the outcome at the mint is unknown: a timeout, a reset, a 5xx, an invalid body
MintUnfit      the mint lacks a required feature, or is not the configured one
"""

from typing import ClassVar, Literal, TypeAlias

from bathysphere.core.errors import CallerError, ConfigError, UpstreamError

Reason: TypeAlias = Literal[
    "token_too_large",
    "token_version",
    "token_malformed",
    "too_many_proofs",
    "secret_repeated",
    "mint_mismatch",
    "unit_mismatch",
    "keyset_unknown",
    "keyset_unit",
    "keyset_expiring",
    "amount_not_a_denomination",
    "point_invalid",
    "dleq_missing",
    "dleq_invalid",
    "lock_missing",
    "lock_malformed",
    "lock_wrong_key",
    "lock_time_missing",
    "lock_time_too_soon",
    "lock_time_too_late",
    "lock_wrong_refund",
    "witness_present",
    "amount_too_large",
    "amount_too_small",
]

MESSAGES: dict[Reason, str] = {
    "token_too_large": "Token too large",
    "token_version": "Unsupported token version",
    "token_malformed": "Malformed token",
    "too_many_proofs": "Unsupported number of proofs",
    "secret_repeated": "Duplicate secret",
    "mint_mismatch": "Token from another mint",
    "unit_mismatch": "Token in another unit",
    "keyset_unknown": "Unknown keyset",
    "keyset_unit": "Keyset of another unit",
    "keyset_expiring": "Keyset expires too soon",
    "amount_not_a_denomination": "Amount is not a denomination of the keyset",
    "point_invalid": "Invalid signature",
    "dleq_missing": "Missing DLEQ proof",
    "dleq_invalid": "Invalid DLEQ proof",
    "lock_missing": "Token is not locked",
    "lock_malformed": "Malformed lock",
    "lock_wrong_key": "Token is locked to another key",
    "lock_time_missing": "Lock has no locktime",
    "lock_time_too_soon": "Locktime too soon",
    "lock_time_too_late": "Locktime too late",
    "lock_wrong_refund": "Lock has another refund key",
    "witness_present": "Token already has a witness",
    "amount_too_large": "Amount too large",
    "amount_too_small": "Amount too small",
}
HINTS: dict[Reason, str] = {
    "mint_mismatch": "pay with e-cash from the mint named in the payment request",
    "keyset_unknown": "the mint may have rotated its keys: try again in a minute",
    "dleq_missing": "configure the wallet to include DLEQ proofs",
    "lock_missing": "lock the token to the key in the payment request",
    "lock_wrong_key": "the token is locked to another session: create a new one",
    "lock_wrong_refund": "use the refund key that the session was opened with",
    "lock_time_too_soon": "use the lock time from the payment request",
    "amount_too_small": "the mint's fee exceeds the deposit: send fewer, larger proofs",
}


class TokenRefused(CallerError):
    """A token was not accepted as a deposit."""

    code = "token_refused"

    def __init__(self, reason: Reason, detail: str = "") -> None:
        text = MESSAGES[reason]
        super().__init__(f"{text}: {detail}" if detail else text, hint=HINTS.get(reason))
        self.reason: Reason = reason


class MintRefused(UpstreamError):
    """The mint refused the request, which had no effect."""

    code = "mint_refused"

    SPENT: ClassVar[int] = 11001
    PENDING: ClassVar[frozenset[int]] = frozenset({11002, 11004})
    KEYSET: ClassVar[frozenset[int]] = frozenset({12001, 12002})

    def __init__(self, mint_code: int, detail: str) -> None:
        super().__init__(f"The mint refused the request (code {mint_code}): {detail[:200]}")
        self.mint_code = mint_code


class MintUnknown(UpstreamError):
    """The outcome of a request to the mint is unknown. Never treat it as a failure."""

    code = "mint_unknown"


class MintUnfit(ConfigError):
    """The mint cannot be used for payment."""

    code = "mint_unfit"
