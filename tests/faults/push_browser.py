"""A browser that subscribes to push messages: checks who sent them, and decrypts them."""

import json
import secrets
from typing import Any

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webhook_receiver import Received, Receiver

from bathysphere.engine.push.keys import ServerKey, decode, encode
from bathysphere.engine.push.subscriptions import NewSubscription

SECRET = b"a secret of thirty-two characters for push"
CONTACT = "mailto:operator@example.com"


class Browser:
    """One browser, whose push service is a receiver on this machine."""

    def __init__(self, receiver: Receiver, path: str = "/ok") -> None:
        self.receiver = receiver
        self.path = path
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = secrets.token_bytes(16)

    @property
    def endpoint(self) -> str:
        return self.receiver.url(self.path)

    @property
    def json(self) -> dict[str, Any]:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": encode(point), "auth": encode(self.auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    @property
    def subscription(self) -> NewSubscription:
        return NewSubscription(endpoint=self.endpoint, **self.json["keys"])

    def read(self, got: Received) -> Any:
        """What a message says, if this server sent it to this push service."""
        scheme, _, fields = got.headers["authorization"].partition(" ")
        found = dict(field.strip().split("=", 1) for field in fields.split(","))
        assert (scheme, found["k"]) == ("vapid", ServerKey(SECRET, contact=CONTACT).public)
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(found["k"]))
        audience = f"http://127.0.0.1:{self.receiver.port}"
        claims = jwt.decode(found["t"], public, algorithms=["ES256"], audience=audience)
        assert claims["sub"] == CONTACT
        assert got.headers["content-encoding"] == "aes128gcm"
        return json.loads(
            http_ece.decrypt(
                got.body, private_key=self.key, auth_secret=self.auth, version="aes128gcm"
            )
        )
