"""Access to workspaces, decided by the authenticated user, never by what a client sends.

A client may choose among its user's workspaces. Any other name is refused with the same message,
whether it exists or not.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.tenancy.errors import InvalidRoot, NoTenant, WorkspaceNotAllowed
from bathysphere.tenancy.quota import Quota
from bathysphere.tenancy.root import Root


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """The workspaces and quota of one tenant."""

    workspaces: Mapping[str, frozenset[str] | None] = field(default_factory=lambda: {"main": None})
    """Name of a workspace → its users; None means every user of the tenant."""
    quota: Quota = field(default_factory=Quota)
    thread_ttl_days: float | None = None
    """Days after their last use when threads are deleted; 0: never; None: the server's default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Directory:
    """The tenants of a deployment. An unlisted tenant gets `others`, if set."""

    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    others: Tenant | None = None

    def workspaces(self, owner: Owner) -> tuple[str, ...]:
        """Return the names of the workspaces that an owner may use; none for an unknown tenant."""
        tenant = self._tenant(owner)
        if tenant is None or not owner.user:
            return ()
        allowed = tenant.workspaces.items()
        return tuple(sorted(n for n, users in allowed if users is None or owner.user in users))

    def private_workspaces(self, owner: Owner) -> tuple[str, ...]:
        """Return the names of the workspaces that nobody but this owner may use."""
        tenant = self._tenant(owner)
        alone = frozenset({owner.user})
        found = tenant.workspaces.items() if tenant is not None else ()
        return tuple(sorted(name for name, users in found if users == alone))

    def quota(self, tenant: str) -> Quota:
        """Return the quota of a tenant."""
        known = self.tenants.get(tenant, self.others)
        return known.quota if known else Quota(bytes=0, objects=0, runs=0)

    def thread_ttl_minutes(self) -> dict[str, float | None]:
        """Return the tenants whose threads do not expire by the server's default; None: never."""
        return {
            name: tenant.thread_ttl_days * 24 * 60 or None
            for name, tenant in self.tenants.items()
            if tenant.thread_ttl_days is not None
        }

    def root(self, owner: Owner | None, workspace: str | None = None) -> Root:
        """Return the root of the requested workspace, or of the owner's only one.

        Raises:
            NoTenant: There is no owner, or its tenant cannot have storage.
            WorkspaceNotAllowed: The owner may not use it, or must choose one.
        """
        if owner is None or not owner.tenant or not owner.user:
            raise NoTenant("Workspaces need an authenticated user")
        allowed = self.workspaces(owner)
        if workspace is None and len(allowed) == 1:
            workspace = allowed[0]
        if workspace is None or workspace not in allowed:
            hint = f"choose one of: {', '.join(allowed)}" if allowed else "ask your operator"
            raise WorkspaceNotAllowed("Workspace not found, or no access", hint=hint)
        return Root(tenant=owner.tenant, workspace=workspace)

    def _tenant(self, owner: Owner) -> Tenant | None:
        return self.tenants.get(owner.tenant, self.others) if owner.tenant else None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Parse a directory: `[tenant.<name>]`, `[tenant.<name>.workspaces]`, `[others]`.

        Raises:
            ConfigError: It is invalid, or contains a name that no root can have.
        """
        try:
            data = tomllib.loads(text)
            tenants = {n: _tenant(n, given) for n, given in data.pop("tenant", {}).items()}
            others = data.pop("others", None)
            if data:
                raise ValueError(f"unknown keys: {', '.join(data)}")
            return cls(
                tenants=tenants, others=_tenant("others", others) if others is not None else None
            )
        except (ValueError, TypeError, AttributeError, InvalidRoot) as error:
            hint = "see docs/tenancy.md"
            raise ConfigError(f"Invalid tenants file: {error}", hint=hint) from error


def _tenant(name: str, given: Mapping[str, Any]) -> Tenant:
    data = dict(given)
    quota = Quota(**data.pop("quota", {}))
    workspaces: dict[str, frozenset[str] | None] = {}
    for workspace, users in data.pop("workspaces", {"main": "*"}).items():
        Root(tenant=name, workspace=workspace)
        workspaces[workspace] = None if users == "*" else _users(users)
    days = data.pop("thread_ttl_days", None)
    if data:
        raise ValueError(f"unknown in {name}: {', '.join(data)}")
    return Tenant(workspaces=workspaces, quota=quota, thread_ttl_days=_days(days))


def _days(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise ValueError("thread_ttl_days must be a number of days, or 0 for never")
    return float(given)


def _users(given: Any) -> frozenset[str]:
    if not isinstance(given, list) or not all(isinstance(user, str) and user for user in given):
        raise ValueError('users must be "*" or a list of names')
    return frozenset(given)
