"""Keys of Web Push: the server's own (VAPID, RFC 8292), and encryption for a browser (RFC 8291)."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bathysphere.engine.errors import InvalidPushSubscription

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the group P-256."""
_POINT, _AUTH = 65, 16
_TOKEN_SECONDS = 12 * 3600


class ServerKey:
    """The key by which push services know this server.

    Derived from a secret, so that all processes have the same one. Browsers subscribe to its public
    half: with another secret, each of them must subscribe again.
    """

    def __init__(self, secret: bytes, *, contact: str) -> None:
        digest = hmac.new(secret, b"bathysphere web push", hashlib.sha512).digest()
        self._key = ec.derive_private_key(1 + int.from_bytes(digest) % (_ORDER - 1), ec.SECP256R1())
        self._contact = contact

    @property
    def public(self) -> str:
        """The public half, as browsers take it."""
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return encode(point)

    def authorization(self, receiver: str, now: datetime) -> str:
        """The Authorization header for a push service."""
        from py_vapid import Vapid02  # only processes that send need it

        claims = {
            "aud": receiver,
            "exp": int(now.timestamp()) + _TOKEN_SECONDS,
            "sub": self._contact,
        }
        header: str = Vapid02(self._key).sign(claims)["Authorization"]
        return header


@dataclass(frozen=True, kw_only=True, slots=True)
class BrowserKeys:
    """What a browser gives to encrypt for it."""

    p256dh: bytes
    auth: bytes

    @classmethod
    def parse(cls, p256dh: str, auth: str) -> Self:
        """Read what the browser gave.

        Raises:
            InvalidPushSubscription: It is not a point of P-256 and 16 bytes.
        """
        try:
            keys = cls(p256dh=decode(p256dh), auth=decode(auth))
            keys.public()
        except ValueError:
            keys = None
        if keys is None or len(keys.p256dh) != _POINT or len(keys.auth) != _AUTH:
            raise InvalidPushSubscription(
                "Invalid keys of a push subscription",
                hint="send what PushSubscription.toJSON() has under keys",
            )
        return keys

    def public(self) -> ec.EllipticCurvePublicKey:
        """The browser's public key.

        Raises:
            ValueError: It is not a point of the curve.
        """
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), self.p256dh)

    def encrypt(self, text: bytes) -> bytes:
        """Encrypt for this browser: a body with the content coding aes128gcm."""
        from http_ece import encrypt  # only processes that send need it

        once = ec.generate_private_key(ec.SECP256R1())
        body: bytes = encrypt(
            text, private_key=once, dh=self.p256dh, auth_secret=self.auth, version="aes128gcm"
        )
        return body

    def topic(self, name: str) -> str:
        """What a push service collapses messages by; it cannot tell what the name is."""
        return encode(hmac.new(self.auth, name.encode(), hashlib.sha256).digest()[:24])


def encode(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Bytes from base64 for URLs, with or without padding.

    Raises:
        ValueError: It is something else.
    """
    plain = text.rstrip("=")
    try:
        data = base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if encode(data) != plain:  # other characters are skipped silently
        raise ValueError("not base64")
    return data
