"""The owner of a row, payer of a run or user of a workspace."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A user of a tenant, as the server authenticated them; never taken from a request's body."""

    tenant: str
    user: str

    @property
    def digest(self) -> str:
        """A unique fixed-length key of the owner."""
        return _digest(self.tenant, self.user)


@lru_cache(maxsize=4096)
def _digest(tenant: str, user: str) -> str:
    parts = f"{len(tenant)}:{tenant}:{user}"
    return hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest()[:32]
