"""Push notices as messages of an outbox: encrypted for one browser, and without contents."""

from datetime import datetime, timedelta
from uuid import UUID

from bathysphere.core.json_text import dumps
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.delivery.outbox import Delivery, OutboxTable
from bathysphere.engine.delivery.sender import Message, Verdict
from bathysphere.engine.push.keys import BrowserKeys, ServerKey

NOTICES = OutboxTable(
    name="engine.push_notices",
    key="notice_id",
    details=("subscription_id", "thread_id", "news"),
)
_KEPT = timedelta(days=1)
"""How old news may be, here and at the push service."""
_SIZE = 128
"""Of every text, so that its length says nothing."""
_GONE = (404, 410)
_TEMPORARY = (408, 425, 429)


class PushChannel:
    """Writes push messages: which thread, and whether it is done, has failed or waits."""

    name = "Push notice"

    def __init__(self, pool: Pool, key: ServerKey) -> None:
        self._pool = pool
        self._key = key

    async def write(self, delivery: Delivery, now: datetime) -> Message | None:
        """Encrypt for the browser; None if the thread is at work again, or the news is old."""
        if now - delivery.created_at > _KEPT:
            return None
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_READ, {"notice": delivery.key})).fetchone()
        if row is None or row["status"] == "busy":
            return None
        thread, news = str(delivery.details["thread_id"]), delivery.details["news"]
        keys = BrowserKeys.parse(row["p256dh"], row["auth"])
        headers = {
            "Authorization": self._key.authorization(delivery.receiver, now),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(int(_KEPT.total_seconds())),
            "Topic": keys.topic(thread),
            "Urgency": "high" if news == "waiting" else "normal",
        }
        body = keys.encrypt(dumps({"thread": thread, "news": news}).ljust(_SIZE))
        return Message(url=row["endpoint"], body=body, headers=headers)

    async def judge(self, delivery: Delivery, status: int) -> Verdict:
        """Forget a browser that has unsubscribed; try again only what may pass."""
        if 200 <= status < 300:
            return "delivered"
        if status in _GONE:
            await self._forget(delivery.details["subscription_id"])
            return "drop"
        return "retry" if status >= 500 or status in _TEMPORARY else "give up"

    async def _forget(self, subscription_id: UUID) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(
                "DELETE FROM engine.push_subscriptions WHERE subscription_id = %s",
                (subscription_id,),
            )


_READ = """
SELECT subscription.endpoint, subscription.p256dh, subscription.auth, thread.status
  FROM engine.push_notices notice
  JOIN engine.push_subscriptions subscription USING (subscription_id, tenant, owner)
  JOIN engine.threads thread USING (thread_id, tenant, owner)
 WHERE notice.notice_id = %(notice)s
"""
