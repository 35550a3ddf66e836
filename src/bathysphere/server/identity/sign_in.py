"""How the browser app offers to sign in: what it may know before anybody is identified."""

from dataclasses import dataclass
from typing import Any, Self

from bathysphere.server.process.addresses import origin_of
from bathysphere.server.process.settings import ServerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class IssuerOffer:
    """The issuer at which people sign in, and the browser app's public client there."""

    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    audience: str

    @property
    def origin(self) -> str:
        """Where the browser app finds the issuer's endpoints."""
        return origin_of(self.issuer)

    @classmethod
    def from_settings(cls, settings: ServerSettings) -> Self | None:
        """The offer of a server; None if people cannot sign in at an issuer."""
        if "oidc" not in settings.auth or settings.oidc_client_id is None:
            return None
        return cls(
            issuer=settings.oidc_issuer or "",
            client_id=settings.oidc_client_id,
            scopes=tuple(dict.fromkeys(("openid", *settings.oidc_scopes))),
            audience=settings.oidc_audience or "",
        )

    def as_json(self) -> dict[str, Any]:
        """As the browser app reads it; nothing here is secret."""
        return {
            "issuer": self.issuer,
            "client_id": self.client_id,
            "scopes": list(self.scopes),
            "audience": self.audience,
        }
