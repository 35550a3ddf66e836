"""Deterministic secrets and blinding factors from a seed (NUT-13), so that none need be stored.

Version 2 keysets use HMAC-SHA256 over the keyset id and a counter, version 1 keysets a BIP-32 path.
"""

import hashlib
import hmac
from typing import NamedTuple

from bathysphere.payments.nuts import curve

_KDF = b"Cashu_KDF_HMAC_SHA256"
_PURPOSE = 129372
_HARDENED = 1 << 31


class Derived(NamedTuple):
    """A 32-byte secret in hex, and its blinding factor."""

    secret: str
    factor: bytes


def derive(seed: bytes, keyset_id: str, counter: int) -> Derived:
    """Derive the secret and blinding factor of a keyset for a counter."""
    if keyset_id.startswith("00"):
        return _derive_v1(seed, keyset_id, counter)
    message = _KDF + bytes.fromhex(keyset_id) + counter.to_bytes(8, "big")
    secret = hmac.digest(seed, message + b"\x00", "sha256")
    factor = int.from_bytes(hmac.digest(seed, message + b"\x01", "sha256"), "big") % curve.ORDER
    return Derived(secret.hex(), factor.to_bytes(32, "big"))


def keyset_number(keyset_id: str) -> int:
    """Return a keyset id as a BIP-32 path component."""
    return int(keyset_id, 16) % (2**31 - 1)


class _Node(NamedTuple):
    key: bytes
    chain: bytes


def _derive_v1(seed: bytes, keyset_id: str, counter: int) -> Derived:
    master = hmac.digest(b"Bitcoin seed", seed, "sha512")
    node = _Node(master[:32], master[32:])
    for step in (_PURPOSE, 0, keyset_number(keyset_id), counter):
        node = _child(node, step + _HARDENED)
    return Derived(_child(node, 0).key.hex(), _child(node, 1).key)


def _child(parent: _Node, index: int) -> _Node:
    known = b"\x00" + parent.key if index >= _HARDENED else curve.public_key(parent.key)
    digest = hmac.digest(parent.chain, known + index.to_bytes(4, "big"), "sha512")
    key = (int.from_bytes(digest[:32], "big") + int.from_bytes(parent.key, "big")) % curve.ORDER
    return _Node(key.to_bytes(32, "big"), digest[32:])


def seed_from_words(words: str) -> bytes:
    """Derive the seed of a BIP-39 mnemonic without a passphrase."""
    return hashlib.pbkdf2_hmac("sha512", words.encode(), b"mnemonic", 2048)
