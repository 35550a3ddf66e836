"""Keys derived from one master secret, so that none is stored.

A session's key locks its deposits: a token for one session is worthless in another, and a mint
cannot link the sessions of one server. A swap's outputs are derived from its seed.
"""

import hmac

from bathysphere.payments.nuts import curve

MIN_MASTER = 32


class SessionKeys:
    """Derives session keys and swap seeds from the master secret, which it never exposes."""

    def __init__(self, master: bytes) -> None:
        if len(master) < MIN_MASTER:
            message = f"The master secret must have at least {MIN_MASTER} bytes"
            raise ValueError(message)
        self._master = master

    def __repr__(self) -> str:
        return "SessionKeys(…)"

    def secret_key(self, session_id: str) -> bytes:
        """The private key that unlocks the deposits of a session."""
        number = int.from_bytes(self._derive("session", session_id), "big")
        return (number % (curve.ORDER - 1) + 1).to_bytes(32, "big")

    def public_key(self, session_id: str) -> str:
        """The public key that a session's deposits are locked to, in hex."""
        return curve.public_key(self.secret_key(session_id)).hex()

    def swap_seed(self, swap_id: str) -> bytes:
        """The seed of the secrets and blinding factors of a swap's outputs."""
        return self._derive("swap", swap_id)

    def _derive(self, use: str, name: str) -> bytes:
        return hmac.digest(self._master, f"bathysphere|{use}|{name}".encode(), "sha256")
