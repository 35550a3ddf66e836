"""P2PK locks (NUT-10, NUT-11): e-cash that only the holder of a key can spend.

`parse_lock` is much stricter than the protocol, so that a mint cannot read a lock differently than
we do: a secret must be byte for byte what a JSON serializer would write for its parsed value, and
every tag must be known. Anything else in a lock could be a way to steal the money.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from coincurve import PrivateKey, PublicKeyXOnly

MAX_SECRET = 512
"""Mints refuse to spend long secrets (Nutshell: over 1024), which would be too late for us."""

_NONCE = re.compile(r"[0-9a-f]{32,64}")
_LOCKTIME = re.compile(r"[1-9][0-9]{0,11}")
_KEY = re.compile(r"0[23][0-9a-f]{64}")
_FIELDS = ["data", "nonce", "tags"]
_FIXED = {"sigflag": "SIG_INPUTS", "n_sigs": "1", "n_sigs_refund": "1"}


class _Object(list[tuple[str, Any]]):
    """A JSON object as a list of pairs: a dictionary would hide duplicate names."""


class NoLock(ValueError):
    """The secret is not a P2PK lock: anyone who sees it can spend it."""


class BadLock(ValueError):
    """The secret is, or may be, a lock, but not in the strict form that is accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lock:
    """A P2PK lock: `key` can spend at any time, the refund keys after the locktime."""

    key: str
    nonce: str
    locktime: int | None = None
    refund: tuple[str, ...] = ()

    def secret(self) -> str:
        """Serialize the lock as the secret of a proof."""
        tags = [["sigflag", "SIG_INPUTS"]]
        if self.locktime is not None:
            tags.append(["locktime", str(self.locktime)])
        if self.refund:
            tags.append(["refund", *self.refund])
        body = {"nonce": self.nonce, "data": self.key, "tags": tags}
        return json.dumps(["P2PK", body], separators=(",", ":"))


def parse_lock(secret: str) -> Lock:
    """Parse a lock in exactly the form that this module writes, or with Python's JSON spacing."""
    if len(secret) > MAX_SECRET:
        message = f"Secret is longer than {MAX_SECRET} characters"
        raise BadLock(message)
    fields, tags = _parts(secret)
    for name, only in _FIXED.items():
        if tags.get(name, [only]) != [only]:
            message = f"Tag {name} must be {only}"
            raise BadLock(message)
    refund = tags.get("refund", [])
    if not all(_KEY.fullmatch(key) for key in [fields["data"], *refund]):
        message = "Keys must be compressed public keys in lower-case hex"
        raise BadLock(message)
    return Lock(
        key=fields["data"],
        nonce=fields["nonce"],
        locktime=_locktime(tags.get("locktime")),
        refund=tuple(refund),
    )


def _parts(secret: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    parsed = _parse(secret)
    match parsed:
        case ["P2PK", _Object() as pairs] if sorted(name for name, _ in pairs) == _FIELDS:
            fields = dict(pairs)
        case _:
            message = "Secret is not a P2PK lock with nonce, data and tags"
            raise BadLock(message)
    data, nonce, tags = fields["data"], fields["nonce"], fields["tags"]
    if not isinstance(data, str) or not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        message = "The lock's data and nonce must be hex strings"
        raise BadLock(message)
    plain = ["P2PK", fields]
    compact = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    if secret not in (compact, json.dumps(plain, ensure_ascii=False)):
        message = "The lock is not in canonical JSON form"
        raise BadLock(message)
    return {"data": data, "nonce": nonce}, _tags(tags)


def _parse(secret: str) -> Any:
    try:
        parsed = json.loads(secret, object_pairs_hook=_Object)
    except (ValueError, RecursionError) as error:
        message = "Secret is not a lock"
        raise NoLock(message) from error
    if not isinstance(parsed, list) or not parsed or not isinstance(parsed[0], str):
        message = "Secret is not a lock"
        raise NoLock(message)
    return parsed


def _tags(written: Any) -> dict[str, list[str]]:
    if not isinstance(written, list):
        message = "The lock's tags must be a list"
        raise BadLock(message)
    tags: dict[str, list[str]] = {}
    for tag in written:
        if not isinstance(tag, list) or len(tag) < 2 or not all(isinstance(t, str) for t in tag):
            message = "A tag must be a list of strings with at least one value"
            raise BadLock(message)
        name, *values = tag
        if name in tags or name not in (*_FIXED, "locktime", "refund"):
            message = f"Unknown or duplicate tag: {name[:20]}"
            raise BadLock(message)
        tags[name] = values
    return tags


def _locktime(values: list[str] | None) -> int | None:
    if values is None:
        return None
    if len(values) != 1 or not _LOCKTIME.fullmatch(values[0]):
        message = "The locktime must be one integer, in seconds"
        raise BadLock(message)
    return int(values[0])


# ── signing ──


def sign(secret: str, secret_key: bytes) -> str:
    """Create the witness that unlocks a secret; deterministic for a given key and secret."""
    digest = hashlib.sha256(secret.encode()).digest()
    # 32 zero bytes as auxiliary randomness: the body of a swap must be the same at every attempt.
    signature = PrivateKey(secret_key).sign_schnorr(digest, bytes(32))
    return json.dumps({"signatures": [signature.hex()]}, separators=(",", ":"))


def signed_by(secret: str, key: bytes, signature: bytes) -> bool:
    """Whether a signature over a secret was made with the key."""
    digest = hashlib.sha256(secret.encode()).digest()
    try:
        return PublicKeyXOnly(key[1:]).verify(signature, digest)
    except ValueError:
        return False
