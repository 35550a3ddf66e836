"""secp256k1 operations: blinding (NUT-00) and DLEQ proofs (NUT-12).

Points are 33 compressed bytes and scalars 32 bytes. Functions raise `ValueError` for an invalid
point or scalar, except that the two DLEQ checks return `False`.
"""

import hashlib

from coincurve import PrivateKey, PublicKey

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
_DOMAIN = b"Secp256k1_HashToCurve_Cashu_"
_TRIES = 2**16
_COMPRESSED = 33


def point(data: bytes) -> bytes:
    """Check that the bytes are a compressed point on the curve, and return them."""
    if len(data) != _COMPRESSED:
        message = f"A compressed point has {_COMPRESSED} bytes, got {len(data)}"
        raise ValueError(message)
    return PublicKey(data).format()


def public_key(secret_key: bytes) -> bytes:
    """Compute the public key of a secret key."""
    return PrivateKey(secret_key).public_key.format()


def hash_to_curve(message: bytes) -> bytes:
    """Hash a message to a point whose secret key nobody knows (`Y` of a secret)."""
    digest = hashlib.sha256(_DOMAIN + message).digest()
    for counter in range(_TRIES):
        x = hashlib.sha256(digest + counter.to_bytes(4, "little")).digest()
        try:
            return PublicKey(b"\x02" + x).format()
        except ValueError:
            continue
    raise ValueError("No point found for this message")


def blind(message: bytes, factor: bytes) -> bytes:
    """Blind a secret: `B_ = Y + r G`, which is what the mint sees of it."""
    return _sum(hash_to_curve(message), public_key(factor))


def sign_blinded(blinded: bytes, mint_key: bytes) -> bytes:
    """Sign a blinded message: `C_ = k B_`, the mint's part."""
    return _times(blinded, mint_key)


def unblind(signature: bytes, factor: bytes, mint_point: bytes) -> bytes:
    """Unblind a signature: `C = C_ - r K`, the signature on the secret itself."""
    return _sum(signature, _negated(_times(mint_point, factor)))


def dleq_hash(*points: bytes) -> bytes:
    """Compute `e` of a DLEQ proof: a hash over the uncompressed points in hex."""
    text = "".join(PublicKey(each).format(compressed=False).hex() for each in points)
    return hashlib.sha256(text.encode()).digest()


def dleq_holds(*, mint_point: bytes, blinded: bytes, signature: bytes, e: bytes, s: bytes) -> bool:
    """Whether the mint signed `blinded` with its published key."""
    try:
        r1 = _sum(public_key(s), _negated(_times(mint_point, e)))
        r2 = _sum(_times(blinded, s), _negated(_times(signature, e)))
        return dleq_hash(r1, r2, mint_point, signature) == e
    except ValueError:
        return False


def dleq_holds_unblinded(
    *, mint_point: bytes, message: bytes, signature: bytes, e: bytes, s: bytes, r: bytes
) -> bool:
    """The same check for the recipient of a proof, who blinds it again with `r`."""
    try:
        blinded = blind(message, r)
        blind_signature = _sum(signature, _times(mint_point, r))
    except ValueError:
        return False
    return dleq_holds(mint_point=mint_point, blinded=blinded, signature=blind_signature, e=e, s=s)


def _times(data: bytes, scalar: bytes) -> bytes:
    return PublicKey(data).multiply(scalar).format()


def _sum(first: bytes, second: bytes) -> bytes:
    return PublicKey.combine_keys([PublicKey(first), PublicKey(second)]).format()


def _negated(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]
