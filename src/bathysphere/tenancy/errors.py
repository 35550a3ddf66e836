"""What the walls between tenants refuse, and how they say so.

All of these are the caller's to fix; none says whether what was asked for exists.
"""

from bathysphere.core.errors import CallerError, NotAllowed


class InvalidPath(CallerError):
    """The path is not one this storage can hold; it is never repaired."""

    code = "invalid_path"


class InvalidRoot(NotAllowed):
    """A tenant or workspace has a name that could reach outside its own root."""

    code = "invalid_root"


class NoTenant(NotAllowed):
    """Nobody is known to be asking: without an identity there is no root."""

    code = "no_tenant"


class WorkspaceNotAllowed(NotAllowed):
    """The identity may not use this workspace, or there is none of that name."""

    code = "workspace_not_allowed"


class TenantChanged(NotAllowed):
    """The thread was begun in another tenant or workspace than the one that goes on with it."""

    code = "tenant_changed"


class QuotaExceeded(NotAllowed):
    """The tenant has used what it may use."""

    code = "quota_exceeded"
