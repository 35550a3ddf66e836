"""Who may use which workspace: from the authenticated identity, never from what a client sends.

A client may choose among the workspaces its identity may use. Whatever else it names is refused
in the same words whether it exists or not.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bathysphere.core.errors import ConfigError
from bathysphere.tenancy.errors import InvalidRoot, NoTenant, WorkspaceNotAllowed
from bathysphere.tenancy.quota import Quota
from bathysphere.tenancy.root import Root


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who is asking, as the server authenticated them."""

    tenant: str
    user: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """What one tenant has."""

    workspaces: Mapping[str, frozenset[str] | None] = field(default_factory=lambda: {"main": None})
    """Name of a workspace → its users; None lets every user of the tenant in."""
    quota: Quota = field(default_factory=Quota)


@dataclass(frozen=True, kw_only=True, slots=True)
class Directory:
    """The tenants of a deployment. A tenant that is not listed has `others`, or nothing."""

    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    others: Tenant | None = None

    def workspaces(self, identity: Identity) -> tuple[str, ...]:
        """The workspaces that an identity may use, by name; none where its tenant is unknown."""
        tenant = self._tenant(identity)
        if tenant is None or not identity.user:
            return ()
        allowed = tenant.workspaces.items()
        return tuple(sorted(n for n, users in allowed if users is None or identity.user in users))

    def quota(self, tenant: str) -> Quota:
        """What a tenant may use."""
        known = self.tenants.get(tenant, self.others)
        return known.quota if known else Quota(bytes=0, objects=0, runs=0)

    def root(self, identity: Identity | None, workspace: str | None = None) -> Root:
        """The root of the workspace an identity asks for, or of its only one.

        Raises:
            NoTenant: There is no identity, or its tenant cannot have storage.
            WorkspaceNotAllowed: The identity may not use it, or must say which one it means.
        """
        if identity is None or not identity.tenant or not identity.user:
            raise NoTenant("there is no workspace without an identity")
        allowed = self.workspaces(identity)
        if workspace is None and len(allowed) == 1:
            workspace = allowed[0]
        if workspace is None or workspace not in allowed:
            hint = f"choose one of: {', '.join(allowed)}" if allowed else "ask your operator"
            raise WorkspaceNotAllowed("this identity has no such workspace", hint=hint)
        return Root(tenant=identity.tenant, workspace=workspace)

    def _tenant(self, identity: Identity) -> Tenant | None:
        return self.tenants.get(identity.tenant, self.others) if identity.tenant else None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a directory: `[tenant.<name>]`, `[tenant.<name>.workspaces]`, `[others]`.

        Raises:
            ConfigError: It cannot be read, or names what no root can have.
        """
        try:
            data = tomllib.loads(text)
            tenants = {n: _tenant(n, given) for n, given in data.pop("tenant", {}).items()}
            others = data.pop("others", None)
            if data:
                raise ValueError(f"unknown: {', '.join(data)}")
            return cls(
                tenants=tenants, others=_tenant("others", others) if others is not None else None
            )
        except (ValueError, TypeError, AttributeError, InvalidRoot) as error:
            hint = "see docs/tenancy.md"
            raise ConfigError(f"the tenants cannot be read: {error}", hint=hint) from error


def _tenant(name: str, given: Mapping[str, Any]) -> Tenant:
    data = dict(given)
    quota = Quota(**data.pop("quota", {}))
    workspaces: dict[str, frozenset[str] | None] = {}
    for workspace, users in data.pop("workspaces", {"main": "*"}).items():
        Root(tenant=name, workspace=workspace)
        workspaces[workspace] = None if users == "*" else _users(users)
    if data:
        raise ValueError(f"unknown in {name}: {', '.join(data)}")
    return Tenant(workspaces=workspaces, quota=quota)


def _users(given: Any) -> frozenset[str]:
    if not isinstance(given, list) or not all(isinstance(user, str) and user for user in given):
        raise ValueError('users are "*" or a list of names')
    return frozenset(given)
