"""P2PK locks (NUT-10, NUT-11): e-cash that only the holder of a key can spend.

`parse_lock` is far narrower than the protocol. Between what we read and what a mint reads there
must be no room: a secret must be exactly what a JSON writer would write for what we understood, and
every tag must be one that we know. Whatever else is in a lock is somebody's way to the money.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from coincurve import PrivateKey, PublicKeyXOnly

MAX_SECRET = 512
"""Mints refuse long secrets (Nutshell: over 1024) when they are spent, which is too late for us."""

_NONCE = re.compile(r"[0-9a-f]{32,64}")
_LOCKTIME = re.compile(r"[1-9][0-9]{0,11}")
_KEY = re.compile(r"0[23][0-9a-f]{64}")
_FIELDS = ["data", "nonce", "tags"]
_FIXED = {"sigflag": "SIG_INPUTS", "n_sigs": "1", "n_sigs_refund": "1"}


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs: a dictionary would hide a name that comes twice."""


class NoLock(ValueError):
    """The secret is not a P2PK lock at all: whoever sees it can spend it."""


class BadLock(ValueError):
    """The secret is, or may be, a lock, but not one of the narrow form that we take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lock:
    """Who can spend: the key at any time, the refund keys once the locktime has passed."""

    key: str
    nonce: str
    locktime: int | None = None
    refund: tuple[str, ...] = ()

    def secret(self) -> str:
        """The lock as a proof's secret."""
        tags = [["sigflag", "SIG_INPUTS"]]
        if self.locktime is not None:
            tags.append(["locktime", str(self.locktime)])
        if self.refund:
            tags.append(["refund", *self.refund])
        body = {"nonce": self.nonce, "data": self.key, "tags": tags}
        return json.dumps(["P2PK", body], separators=(",", ":"))


def parse_lock(secret: str) -> Lock:
    """Read a lock of exactly the form that this module writes, or one in Python's JSON spacing."""
    if len(secret) > MAX_SECRET:
        message = f"a secret has at most {MAX_SECRET} characters"
        raise BadLock(message)
    fields, tags = _parts(secret)
    for name, only in _FIXED.items():
        if tags.get(name, [only]) != [only]:
            message = f"the tag {name} must be {only}"
            raise BadLock(message)
    refund = tags.get("refund", [])
    if not all(_KEY.fullmatch(key) for key in [fields["data"], *refund]):
        message = "a key in the lock is not a compressed key in lower case"
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
            message = "the secret is not a P2PK lock with nonce, data and tags"
            raise BadLock(message)
    data, nonce, tags = fields["data"], fields["nonce"], fields["tags"]
    if not isinstance(data, str) or not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        message = "the lock's data and nonce must be hex texts"
        raise BadLock(message)
    plain = ["P2PK", fields]
    compact = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    if secret not in (compact, json.dumps(plain, ensure_ascii=False)):
        message = "the lock is not written as a JSON writer writes it"
        raise BadLock(message)
    return {"data": data, "nonce": nonce}, _tags(tags)


def _parse(secret: str) -> Any:
    try:
        parsed = json.loads(secret, object_pairs_hook=_Object)
    except (ValueError, RecursionError) as error:
        message = "the secret is not a lock"
        raise NoLock(message) from error
    if not isinstance(parsed, list) or not parsed or not isinstance(parsed[0], str):
        message = "the secret is not a lock"
        raise NoLock(message)
    return parsed


def _tags(written: Any) -> dict[str, list[str]]:
    if not isinstance(written, list):
        message = "the lock's tags must be a list"
        raise BadLock(message)
    tags: dict[str, list[str]] = {}
    for tag in written:
        if not isinstance(tag, list) or len(tag) < 2 or not all(isinstance(t, str) for t in tag):
            message = "a tag must be a list of texts with a value"
            raise BadLock(message)
        name, *values = tag
        if name in tags or name not in (*_FIXED, "locktime", "refund"):
            message = f"the tag {name[:20]} is not allowed or comes twice"
            raise BadLock(message)
        tags[name] = values
    return tags


def _locktime(values: list[str] | None) -> int | None:
    if values is None:
        return None
    if len(values) != 1 or not _LOCKTIME.fullmatch(values[0]):
        message = "the locktime must be one whole number of seconds"
        raise BadLock(message)
    return int(values[0])


# ── opening ──


def sign(secret: str, secret_key: bytes) -> str:
    """The witness that opens a lock; the same key and secret always give the same one."""
    digest = hashlib.sha256(secret.encode()).digest()
    # 32 zero bytes as auxiliary randomness: the body of a swap must be the same at every attempt.
    signature = PrivateKey(secret_key).sign_schnorr(digest, bytes(32))
    return json.dumps({"signatures": [signature.hex()]}, separators=(",", ":"))


def signed_by(secret: str, key: bytes, signature: bytes) -> bool:
    """Whether a signature over a secret is by the holder of a key."""
    digest = hashlib.sha256(secret.encode()).digest()
    try:
        return PublicKeyXOnly(key[1:]).verify(signature, digest)
    except ValueError:
        return False
