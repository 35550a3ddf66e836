"""Webhooks as messages of an outbox: the body, signed, to the URL that the run names."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from bathysphere.engine.delivery.outbox import Delivery, OutboxTable
from bathysphere.engine.delivery.receivers import Receivers
from bathysphere.engine.delivery.sender import Message, Verdict
from bathysphere.engine.errors import InvalidWebhook
from bathysphere.engine.webhooks.signing import WebhookSigner
from bathysphere.tools.errors import FetchRefused

WEBHOOKS = OutboxTable(name="engine.webhooks", key="webhook_id", details=("url", "checkpoint_id"))
WriteBody = Callable[[Delivery, datetime], Awaitable[bytes]]
"""Writes the body of a webhook, as its owner may read it, with the time of sending."""


class WebhookChannel:
    """Signs webhooks. One is delivered when its receiver responds with a 2xx status."""

    name = "Webhook"

    def __init__(self, signer: WebhookSigner, write_body: WriteBody) -> None:
        self._signer = signer
        self._write_body = write_body

    async def write(self, delivery: Delivery, now: datetime) -> Message:
        """Write and sign the body.

        Raises:
            CallerError: The run or its thread was deleted.
        """
        body = await self._write_body(delivery, now)
        signed = self._signer.headers(delivery.owner.tenant, delivery.message_id, now, body)
        headers = {"Content-Type": "application/json", **signed}
        return Message(url=delivery.details["url"], body=body, headers=headers)

    async def judge(self, delivery: Delivery, status: int) -> Verdict:  # noqa: ARG002
        """Take every other status for a failure that may pass."""
        return "delivered" if 200 <= status < 300 else "retry"


def check_webhook(receivers: Receivers, url: str) -> None:
    """Check the form and host of a URL.

    Raises:
        InvalidWebhook: It cannot receive webhooks.
    """
    try:
        receivers.check(url)
    except FetchRefused as error:
        raise InvalidWebhook(
            f"webhook: {error.message}", hint="use an https URL of a public server"
        ) from error
