"""OpenID Connect: validate access tokens and read the owner from their claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.exceptions import ExpiredSignatureError, PyJWTError
from starlette.requests import HTTPConnection

from bathysphere.core.identity import Owner
from bathysphere.server.identity.identify import ADMIN, ROLES_KEY, Unauthenticated, credential
from bathysphere.server.identity.jwks import Jwks

_MAX_CLAIM = 255
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_OTHER_CLAIMS = frozenset({"events", "nonce", "at_hash", "c_hash", "s_hash"})
"""Claims of logout and ID tokens that access tokens do not have."""
_OTHER_TYPES = frozenset({"id", "logout", "refresh"})
"""Values of the claim `typ` in such tokens, if the issuer sets it."""
_FRESH = "get a fresh token from the configured issuer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trust:
    """Which tokens are accepted, and which claims contain the user, the tenant and the role."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    user_claim: str = "sub"
    tenant_claim: str | None = None
    tenant: str = "default"
    admin_claim: str | None = None
    admin_value: str = ADMIN
    leeway_seconds: float = 30


class Oidc:
    """Accepts the tokens of one issuer."""

    def __init__(self, trust: Trust, jwks: Jwks) -> None:
        self._trust = trust
        self._jwks = jwks

    async def owner_of(self, token: str) -> Owner:
        """Return the owner of a valid token.

        Raises:
            Unauthenticated: The token is malformed, forged, expired or for another audience.
            IdentityUnavailable: The issuer's keys cannot be fetched.
        """
        return self._owner(await self._verified(token))

    async def identify(self, connection: HTTPConnection) -> Owner:
        """Identify the owner, and their role, by the request's token."""
        claims = await self._verified(credential(connection))
        owner = self._owner(claims)
        connection.scope[ROLES_KEY] = frozenset({ADMIN} if self._is_admin(claims) else ())
        return owner

    async def _verified(self, token: str) -> Mapping[str, Any]:
        key_id, algorithm = self._header(token)
        return self._claims(token, await self._jwks.key(key_id, algorithm))

    def _header(self, token: str) -> tuple[str | None, str]:
        try:
            header = jwt.get_unverified_header(token)
        except (PyJWTError, ValueError) as error:
            raise Unauthenticated("Not a valid token", hint=_FRESH) from error
        algorithm, key_id = header.get("alg"), header.get("kid")
        # Checked before any key is looked up: the token must not choose how it is verified.
        if not isinstance(algorithm, str) or algorithm not in self._trust.algorithms:
            raise Unauthenticated(
                "The token's algorithm is not accepted",
                hint=f"accepted: {', '.join(self._trust.algorithms)}",
            )
        kind = header.get("typ", "jwt")
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise Unauthenticated("The token is not an access token", hint=_FRESH)
        if key_id is not None and not isinstance(key_id, str):
            raise Unauthenticated("The token's key id is not a string", hint=_FRESH)
        return key_id, algorithm

    def _claims(self, token: str, key: jwt.PyJWK) -> Mapping[str, Any]:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._trust.issuer,
                audience=self._trust.audience,
                leeway=self._trust.leeway_seconds,
                options={"require": ["exp", "iss", "aud"]},
            )
        except ExpiredSignatureError as error:
            raise Unauthenticated("The token has expired", hint=_FRESH) from error
        except (PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise Unauthenticated("The token is not valid for this server", hint=_FRESH) from error

    def _owner(self, claims: Mapping[str, Any]) -> Owner:
        if _OTHER_CLAIMS & claims.keys() or str(claims.get("typ", "")).lower() in _OTHER_TYPES:
            raise Unauthenticated(
                "The token is not an access token", hint="send an access token, not an ID token"
            )
        user = _name(claims, self._trust.user_claim)
        claim = self._trust.tenant_claim
        tenant = _name(claims, claim) if claim is not None else self._trust.tenant
        return Owner(tenant=tenant, user=user)

    def _is_admin(self, claims: Mapping[str, Any]) -> bool:
        if self._trust.admin_claim is None:
            return False
        found = _find(claims, self._trust.admin_claim)
        # Of one type only: `"administrator"` contains `admin`, and so does `{"admin": false}`.
        return (found if isinstance(found, list) else [found]).count(self._trust.admin_value) > 0


def _find(claims: Mapping[str, Any], claim: str) -> Any:
    """A claim by its name, or by a path such as `realm_access.roles`."""
    if claim in claims:
        return claims[claim]
    found: Any = claims
    for name in claim.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _name(claims: Mapping[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if isinstance(value, str) and value.strip() and value.isprintable():
        if len(value) <= _MAX_CLAIM:
            return value
        raise Unauthenticated(f"The token's claim {claim!r} is too long", hint=_FRESH)
    raise Unauthenticated(
        f"The token's claim {claim!r} is missing or not a name",
        hint="the server's claims are set by BATHYSPHERE_OIDC_USER_CLAIM and …_TENANT_CLAIM",
    )
