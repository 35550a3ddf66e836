"""Authentication: one function from a connection to the owner whose data it may access.

`anonymous` (loopback only), API keys and OIDC tokens each provide one. Nothing else that a client
sends identifies it: no other header, no `configurable`, no `user_id`.
"""

from bathysphere.server.identity.identify import (
    Identify,
    IdentityUnavailable,
    Unauthenticated,
    grant_of,
    identify_again,
    once,
    roles_of,
)

__all__ = [
    "Identify",
    "IdentityUnavailable",
    "Unauthenticated",
    "grant_of",
    "identify_again",
    "once",
    "roles_of",
]
