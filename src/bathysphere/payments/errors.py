"""What payment refuses, and how it says so.

TokenRefused   the person's token cannot be taken; `reason` says why, in one word for programs
MintRefused    the mint said no, for certain: an HTTP 400 with its error code
MintUnknown    nobody knows what the mint did: a timeout, a reset, a 5xx, a body that makes no sense
MintUnfit      the mint lacks what we need, or is not the one that was configured
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

HINTS: dict[Reason, str] = {
    "mint_mismatch": "pay with e-cash of the mint that the payment request names",
    "keyset_unknown": "the mint may have rotated its keys: try again in a minute",
    "dleq_missing": "ask the wallet to include DLEQ proofs",
    "lock_missing": "lock the token to the key that the payment request names",
    "lock_wrong_key": "the token is locked for another session: lock a new one",
    "lock_wrong_refund": "the refund key must be the one that the session was opened with",
    "lock_time_too_soon": "lock it for longer, as the payment request says",
    "amount_too_small": "the mint's fee would eat the deposit: send fewer, larger proofs",
}


class TokenRefused(CallerError):
    """A token cannot be taken as a deposit."""

    code = "token_refused"

    def __init__(self, reason: Reason, detail: str = "") -> None:
        text = reason.replace("_", " ")
        super().__init__(f"{text}: {detail}" if detail else text, hint=HINTS.get(reason))
        self.reason: Reason = reason


class MintRefused(UpstreamError):
    """The mint refused, and nothing happened."""

    code = "mint_refused"

    SPENT: ClassVar[int] = 11001
    PENDING: ClassVar[frozenset[int]] = frozenset({11002, 11004})
    ALREADY_SIGNED: ClassVar[frozenset[int]] = frozenset({10002, 11003})
    KEYSET: ClassVar[frozenset[int]] = frozenset({12001, 12002})

    def __init__(self, mint_code: int, detail: str) -> None:
        super().__init__(f"the mint refused with {mint_code}: {detail[:200]}")
        self.mint_code = mint_code


class MintUnknown(UpstreamError):
    """Whether the mint did it is unknown. Never to be taken for a failure."""

    code = "mint_unknown"


class MintUnfit(ConfigError):
    """The mint cannot be used for payment."""

    code = "mint_unfit"
