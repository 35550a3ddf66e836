"""What a process needs to send webhooks and push notices, and the senders of a worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from bathysphere.core.clock import Clock
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.delivery.outbox import Outbox
from bathysphere.engine.delivery.receivers import ReceiverRules, Receivers
from bathysphere.engine.delivery.sender import Sender, SenderOptions
from bathysphere.engine.push.channel import NOTICES, PushChannel
from bathysphere.engine.push.keys import ServerKey
from bathysphere.engine.push.subscriptions import PushSubscriptions
from bathysphere.engine.runs.worker import Companion
from bathysphere.engine.webhooks.channel import WEBHOOKS, WebhookChannel, WriteBody
from bathysphere.engine.webhooks.signing import WebhookSigner
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.side_tasks import keep_running


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookOptions:
    """The secret that webhooks are signed with, their receivers and the sender's settings."""

    master: bytes
    rules: ReceiverRules = field(default_factory=ReceiverRules)
    sender: SenderOptions = field(default_factory=SenderOptions)


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhooks:
    """What is needed to accept and send webhooks."""

    receivers: Receivers
    signer: WebhookSigner
    options: SenderOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class PushOptions:
    """The secret of the server's key, whom push services write to, and the sender's settings."""

    secret: bytes
    contact: str
    rules: ReceiverRules = field(default_factory=ReceiverRules)
    # Ten attempts take three quarters of an hour: later, a person has looked themselves. One push
    # service receives the notices of all.
    sender: SenderOptions = field(
        default_factory=lambda: SenderOptions(attempts=10, slots_per_receiver=8)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Push:
    """What is needed to keep subscriptions and send push notices."""

    subscriptions: PushSubscriptions
    receivers: Receivers
    key: ServerKey
    options: SenderOptions


@asynccontextmanager
async def open_webhooks(options: WebhookOptions | None) -> AsyncIterator[Webhooks | None]:
    """Open what sends webhooks; None if they are disabled."""
    if options is None:
        yield None
        return
    receivers = Receivers(options.rules)
    try:
        signer = WebhookSigner(options.master)
        yield Webhooks(receivers=receivers, signer=signer, options=options.sender)
    finally:
        await receivers.aclose()


@asynccontextmanager
async def open_push(options: PushOptions | None, pool: Pool) -> AsyncIterator[Push | None]:
    """Open what sends push notices; None if they are disabled."""
    if options is None:
        yield None
        return
    receivers = Receivers(options.rules)
    key = ServerKey(options.secret, contact=options.contact)
    try:
        yield Push(
            subscriptions=PushSubscriptions(pool, receivers, key),
            receivers=receivers,
            key=key,
            options=options.sender,
        )
    finally:
        await receivers.aclose()


def senders(
    *,
    webhooks: Webhooks | None,
    push: Push | None,
    write_body: WriteBody,
    pool: Pool,
    clock: Clock,
    metrics: Metrics,
) -> list[Companion]:
    """What a worker process sends beside its runs."""
    found: list[Companion] = []
    if webhooks is not None:
        sender = Sender(
            Outbox(pool, WEBHOOKS),
            webhooks.receivers,
            WebhookChannel(webhooks.signer, write_body),
            clock=clock,
            options=webhooks.options,
            on_outcome=metrics.count_webhook,
        )
        found.append(partial(keep_running, "webhooks", sender.run))
    if push is not None:
        sender = Sender(
            Outbox(pool, NOTICES),
            push.receivers,
            PushChannel(pool, push.key),
            clock=clock,
            options=push.options,
            on_outcome=metrics.count_push_notice,
        )
        found.append(partial(keep_running, "push", sender.run))
    return found
