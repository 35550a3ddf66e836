"""What the administrators of a server may use."""

from dataclasses import dataclass
from typing import Self

from bathysphere.core.errors import NotAllowed
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.observability.health import Health
from bathysphere.server.process.services import Services
from bathysphere.server.process.settings import ServerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Administration:
    """What is needed beside the services of the process."""

    health: Health
    api_keys: ApiKeys | None
    """None if this server knows no API keys."""

    @classmethod
    def from_settings(
        cls, settings: ServerSettings, services: Services, health: Health
    ) -> Self | None:
        """None if nobody can be an administrator here: one person alone has the commands."""
        if settings.oidc_admin_claim is None:
            return None
        keys = ApiKeys(services.pool) if "api-key" in settings.auth else None
        return cls(health=health, api_keys=keys)

    @property
    def keys(self) -> ApiKeys:
        """The API keys of this server.

        Raises:
            NotAllowed: It has none.
        """
        if self.api_keys is None:
            raise NotAllowed("This server has no API keys", hint="see BATHYSPHERE_AUTH")
        return self.api_keys
