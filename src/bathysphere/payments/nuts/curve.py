"""Points and scalars of secp256k1: blinding (NUT-00) and DLEQ proofs (NUT-12).

Points are 33 compressed bytes and scalars 32 bytes everywhere outside this module. What is not a
point or not a scalar raises `ValueError`; the two checks answer `False` instead.
"""

import hashlib

from coincurve import PrivateKey, PublicKey

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
_DOMAIN = b"Secp256k1_HashToCurve_Cashu_"
_TRIES = 2**16
_COMPRESSED = 33


def point(data: bytes) -> bytes:
    """The same bytes, once they are known to be a compressed point on the curve."""
    if len(data) != _COMPRESSED:
        message = f"a compressed point has {_COMPRESSED} bytes, not {len(data)}"
        raise ValueError(message)
    return PublicKey(data).format()


def public_key(secret_key: bytes) -> bytes:
    """The point that belongs to a secret key."""
    return PrivateKey(secret_key).public_key.format()


def hash_to_curve(message: bytes) -> bytes:
    """A point of which nobody knows the secret key (`Y` of a secret)."""
    digest = hashlib.sha256(_DOMAIN + message).digest()
    for counter in range(_TRIES):
        x = hashlib.sha256(digest + counter.to_bytes(4, "little")).digest()
        try:
            return PublicKey(b"\x02" + x).format()
        except ValueError:
            continue
    message_text = "no point was found for this message"
    raise ValueError(message_text)


def blind(message: bytes, factor: bytes) -> bytes:
    """`B_ = Y + r G`: what the mint sees of a secret."""
    return _sum(hash_to_curve(message), public_key(factor))


def sign_blinded(blinded: bytes, mint_key: bytes) -> bytes:
    """`C_ = k B_`: what a mint answers with."""
    return _times(blinded, mint_key)


def unblind(signature: bytes, factor: bytes, mint_point: bytes) -> bytes:
    """`C = C_ - r K`: the signature on the secret itself."""
    return _sum(signature, _negated(_times(mint_point, factor)))


def dleq_hash(*points: bytes) -> bytes:
    """`e` of a DLEQ proof: a hash over the uncompressed points, written as hex."""
    text = "".join(PublicKey(each).format(compressed=False).hex() for each in points)
    return hashlib.sha256(text.encode()).digest()


def dleq_holds(*, mint_point: bytes, blinded: bytes, signature: bytes, e: bytes, s: bytes) -> bool:
    """Whether the mint signed `blinded` with the key that it publishes."""
    try:
        r1 = _sum(public_key(s), _negated(_times(mint_point, e)))
        r2 = _sum(_times(blinded, s), _negated(_times(signature, e)))
        return dleq_hash(r1, r2, mint_point, signature) == e
    except ValueError:
        return False


def dleq_holds_unblinded(
    *, mint_point: bytes, message: bytes, signature: bytes, e: bytes, s: bytes, r: bytes
) -> bool:
    """The same check by someone who got the proof from another person: `r` blinds it again."""
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
