"""What the ledger refuses, and how it says so."""

from bathysphere.core.errors import BathysphereError, CallerError, ConfigError


class NoPaymentSession(CallerError):
    """The thread has no open session, or it is somebody else's."""

    code = "no_payment_session"


class PaymentSessionTaken(CallerError):
    """The thread's open session has another owner or another refund key."""

    code = "payment_session_taken"


class TokenAlreadyUsed(CallerError):
    """A proof of the token was deposited before, elsewhere or beside others."""

    code = "token_already_used"


class ChargeVoided(CallerError):
    """An answer came for a charge that no longer stands; it must be charged again."""

    code = "charge_voided"


class Unsealable(ConfigError):
    """A stored secret cannot be read with the payments secret of this process."""

    code = "unsealable"


class SwapMoved(BathysphereError):
    """The swap is no longer this worker's: its lease ran out and another one ended it."""

    code = "swap_moved"
