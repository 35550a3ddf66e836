"""The pin: a thread belongs to the tenant and workspace it was begun in, for good.

A run's context is made anew each time a thread goes on, so a write that one tenant asked for could
be approved, and land, in another's workspace. The pin is kept with the thread and compared on every
step; what does not match is refused, and so is what is missing.
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
        """The pin of a root."""
        return cls(tenant=root.tenant, workspace=root.workspace)

    def to_json(self) -> dict[str, str]:
        """As it is kept."""
        return {"tenant": self.tenant, "workspace": self.workspace}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Read it back.

        Raises:
            TenantChanged: It is not a pin: somebody has been at it.
        """
        if not isinstance(data, Mapping) or set(data) != {"tenant", "workspace"}:
            raise TenantChanged("the thread does not say which workspace it belongs to")
        tenant, workspace = data["tenant"], data["workspace"]
        if not isinstance(tenant, str) or not isinstance(workspace, str):
            raise TenantChanged("the thread does not say which workspace it belongs to")
        return cls(tenant=tenant, workspace=workspace)

    def check(self, root: Root) -> None:
        """Refuse to go on in another root.

        Raises:
            TenantChanged: The root is not the one of the thread.
        """
        if Pin.of(root) != self:
            raise TenantChanged(
                "this thread belongs to another workspace", hint="begin a thread of your own"
            )
