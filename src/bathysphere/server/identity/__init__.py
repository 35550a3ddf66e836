"""Who is asking: one function from a connection to the owner of everything it may touch.

`anonymous` (loopback only), API keys and OIDC tokens are each such a function. Nothing else that a
client sends says who it is: no header, no `configurable`, no `user_id`.
"""

from bathysphere.server.identity.identify import (
    Identify,
    IdentityUnavailable,
    Unauthenticated,
    once,
)

__all__ = ["Identify", "IdentityUnavailable", "Unauthenticated", "once"]
