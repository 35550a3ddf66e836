"""Signatures of webhooks, by the Standard Webhooks specification.

Each tenant has a secret of its own, derived from the deployment's: what one tenant can verify it
cannot forge for another.
"""

import base64
import hashlib
import hmac
from datetime import datetime

MIN_SECRET = 32


def tenant_secret(master: bytes, tenant: str) -> str:
    """The secret of a tenant's webhooks, in the form that receivers configure."""
    derived = hmac.new(master, b"bathysphere webhooks:" + tenant.encode(), hashlib.sha256)
    return f"whsec_{base64.b64encode(derived.digest()).decode()}"


class WebhookSigner:
    """Signs the webhooks of all tenants."""

    def __init__(self, master: bytes) -> None:
        self._master = master

    def headers(self, tenant: str, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
        """The headers that prove where a webhook is from, and when it was sent."""
        from standardwebhooks import Webhook  # only processes that send webhooks need it

        signature = Webhook(tenant_secret(self._master, tenant)).sign(message_id, at, body.decode())
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
