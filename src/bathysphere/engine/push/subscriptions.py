"""The browsers that a person wants to be told by, with Web Push."""

from dataclasses import dataclass

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.delivery.receivers import Receivers
from bathysphere.engine.errors import InvalidPushSubscription
from bathysphere.engine.push.keys import BrowserKeys, ServerKey
from bathysphere.tools.errors import FetchRefused

MAX_PER_PERSON = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSubscription:
    """What a browser gives when it subscribes."""

    endpoint: str
    p256dh: str
    auth: str


class PushSubscriptions:
    """The subscriptions of all owners; each call acts for one of them."""

    def __init__(self, pool: Pool, receivers: Receivers, key: ServerKey) -> None:
        self._pool = pool
        self._receivers = receivers
        self.public_key = key.public

    async def put(self, new: NewSubscription, *, owner: Owner) -> None:
        """Keep a browser's subscription, and remove the ones longest unseen beyond the limit.

        A browser is one person's: the last one who subscribed with it.

        Raises:
            InvalidPushSubscription: Its endpoint is not allowed, or its keys are none.
        """
        values = {
            "tenant": owner.tenant,
            "owner": owner.user,
            "endpoint": new.endpoint,
            "receiver": self._receiver(new.endpoint),
            "p256dh": new.p256dh,
            "auth": new.auth,
            "limit": MAX_PER_PERSON,
        }
        BrowserKeys.parse(new.p256dh, new.auth)
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(_LOCK, values)
            # What was to be told to the person before goes with their subscription.
            await connection.execute(_TAKE_OVER, values)
            await connection.execute(_PUT, values)
            await connection.execute(_REMOVE_UNSEEN, values)

    async def delete(self, endpoint: str, *, owner: Owner) -> None:
        """Delete a subscription, if it is there and is the owner's."""
        values = {"endpoint": endpoint, "tenant": owner.tenant, "owner": owner.user}
        async with self._pool.connection() as connection:
            await connection.execute(_DELETE, values)

    def _receiver(self, endpoint: str) -> str:
        """The scheme and host of an endpoint, after checking it."""
        try:
            url = self._receivers.check(endpoint)
        except FetchRefused as error:
            raise _invalid(error.message) from error
        if ":" in url.host:  # the library that authorizes cannot name such a service
            raise _invalid("The host must be a name")
        port = f":{url.port}" if url.port is not None else ""
        return f"{url.scheme}://{url.raw_host.decode('ascii').lower()}{port}"


def _invalid(problem: str) -> InvalidPushSubscription:
    hint = "an endpoint is the https URL of a browser's push service"
    return InvalidPushSubscription(f"endpoint: {problem}", hint=hint)


_LOCK = """
SELECT pg_advisory_xact_lock(hashtextextended('push:' || %(tenant)s || '/' || %(owner)s, 0))
"""
_TAKE_OVER = """
DELETE FROM engine.push_subscriptions
 WHERE endpoint = %(endpoint)s AND (tenant, owner) <> (%(tenant)s, %(owner)s)
"""
_PUT = """
INSERT INTO engine.push_subscriptions (tenant, owner, endpoint, receiver, p256dh, auth)
VALUES (%(tenant)s, %(owner)s, %(endpoint)s, %(receiver)s, %(p256dh)s, %(auth)s)
ON CONFLICT (endpoint) DO UPDATE
   SET tenant = EXCLUDED.tenant, owner = EXCLUDED.owner, p256dh = EXCLUDED.p256dh,
       auth = EXCLUDED.auth, seen_at = now()
"""
_REMOVE_UNSEEN = """
DELETE FROM engine.push_subscriptions
 WHERE subscription_id IN (
       SELECT subscription_id FROM engine.push_subscriptions
        WHERE tenant = %(tenant)s AND owner = %(owner)s
        ORDER BY seen_at DESC, subscription_id OFFSET %(limit)s)
"""
_DELETE = """
DELETE FROM engine.push_subscriptions
 WHERE endpoint = %(endpoint)s AND tenant = %(tenant)s AND owner = %(owner)s
"""
