"""Errors of the ledger."""

from bathysphere.core.errors import CallerError, ConfigError


class NoPaymentSession(CallerError):
    """The thread has no open session of this payer."""

    code = "no_payment_session"


class PaymentSessionTaken(CallerError):
    """The thread's open session has a different payer or refund key."""

    code = "payment_session_taken"


class TokenAlreadyUsed(CallerError):
    """A proof of the token was already deposited, in another session or with other proofs."""

    code = "token_already_used"


class Unsealable(ConfigError):
    """A stored value cannot be decrypted with the configured payments secret."""

    code = "unsealable"
