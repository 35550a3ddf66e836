"""The pin: a thread permanently belongs to the tenant and workspace it was started in.

A run's context is created again for each run of a thread, so without a pin a write requested in one
workspace could be approved and made in another. The pin is stored with the thread and compared in
every step; a mismatch is refused, and so is a missing pin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bathysphere.tenancy.errors import TenantChanged
from bathysphere.tenancy.root import Root


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """The tenant and workspace of a thread."""

    tenant: str
    workspace: str

    @classmethod
    def of(cls, root: Root) -> Self:
        """Create the pin of a root."""
        return cls(tenant=root.tenant, workspace=root.workspace)

    def to_json(self) -> dict[str, str]:
        """Serialize the pin for storage."""
        return {"tenant": self.tenant, "workspace": self.workspace}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Parse a stored pin.

        Raises:
            TenantChanged: It is not a pin: it was tampered with.
        """
        if not isinstance(data, Mapping) or set(data) != {"tenant", "workspace"}:
            raise TenantChanged("The thread's workspace is missing or invalid")
        tenant, workspace = data["tenant"], data["workspace"]
        if not isinstance(tenant, str) or not isinstance(workspace, str):
            raise TenantChanged("The thread's workspace is missing or invalid")
        return cls(tenant=tenant, workspace=workspace)

    def check(self, root: Root) -> None:
        """Check that a root is the thread's.

        Raises:
            TenantChanged: The thread belongs to another root.
        """
        if Pin.of(root) != self:
            raise TenantChanged(
                "This thread belongs to another workspace", hint="start a new thread"
            )
