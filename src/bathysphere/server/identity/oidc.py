"""Tokens of an OpenID Connect issuer: checked, then its claims name the owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.exceptions import ExpiredSignatureError, PyJWTError
from starlette.requests import HTTPConnection

from bathysphere.engine.records import Owner
from bathysphere.server.identity.identify import Unauthenticated, credential
from bathysphere.server.identity.jwks import Jwks

_LONGEST_CLAIM = 255
_FRESH = "get a fresh token from the configured issuer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trust:
    """Which tokens are believed, and what in them names the user and the tenant."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    user_claim: str = "sub"
    tenant_claim: str | None = None
    tenant: str = "default"
    leeway_seconds: float = 30


class Oidc:
    """Believes the tokens of one issuer."""

    def __init__(self, trust: Trust, jwks: Jwks) -> None:
        self._trust = trust
        self._jwks = jwks

    async def owner_of(self, token: str) -> Owner:
        """The owner a token stands for, now.

        Raises:
            Unauthenticated: The token is malformed, forged, for someone else or out of date.
            IdentityUnavailable: The issuer's keys cannot be fetched.
        """
        key_id, algorithm = self._header(token)
        key = await self._jwks.key(key_id, algorithm)
        return self._owner(self._claims(token, key))

    async def identify(self, connection: HTTPConnection) -> Owner:
        """The owner of the token a request carries."""
        return await self.owner_of(credential(connection))

    def _header(self, token: str) -> tuple[str | None, str]:
        try:
            header = jwt.get_unverified_header(token)
        except (PyJWTError, ValueError) as error:
            raise Unauthenticated("this is not a token", hint=_FRESH) from error
        algorithm, key_id = header.get("alg"), header.get("kid")
        # Decided here, before any key is looked at: the token does not choose how it is checked.
        if not isinstance(algorithm, str) or algorithm not in self._trust.algorithms:
            raise Unauthenticated(
                "the token's algorithm is not accepted",
                hint=f"accepted are {', '.join(self._trust.algorithms)}",
            )
        if key_id is not None and not isinstance(key_id, str):
            raise Unauthenticated("the token's key id is not a text", hint=_FRESH)
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
            raise Unauthenticated("the token is out of date", hint=_FRESH) from error
        except (PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise Unauthenticated("the token is not valid here", hint=_FRESH) from error

    def _owner(self, claims: Mapping[str, Any]) -> Owner:
        user = _name(claims, self._trust.user_claim)
        claim = self._trust.tenant_claim
        tenant = _name(claims, claim) if claim is not None else self._trust.tenant
        return Owner(tenant=tenant, user=user)


def _name(claims: Mapping[str, Any], claim: str) -> str:
    value = claims.get(claim)
    if isinstance(value, str) and value.strip() and value.isprintable():
        if len(value) <= _LONGEST_CLAIM:
            return value
        raise Unauthenticated(f"the token's claim {claim!r} is too long", hint=_FRESH)
    raise Unauthenticated(
        f"the token does not say who this is: its claim {claim!r} is not a name",
        hint="the operator chooses the claims with BATHYSPHERE_OIDC_USER_CLAIM and …_TENANT_CLAIM",
    )
