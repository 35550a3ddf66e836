"""Errors of tenant isolation.

All of them are the caller's to fix; none reveals whether the requested object exists.
"""

from bathysphere.core.errors import CallerError, NotAllowed


class InvalidPath(CallerError):
    """The path cannot be stored; it is never corrected."""

    code = "invalid_path"


class InvalidRoot(NotAllowed):
    """The name of a tenant or workspace could reach outside its root."""

    code = "invalid_root"


class NoTenant(NotAllowed):
    """There is no authenticated user, and so no root."""

    code = "no_tenant"


class WorkspaceNotAllowed(NotAllowed):
    """The workspace does not exist, or the user may not use it."""

    code = "workspace_not_allowed"


class TenantChanged(NotAllowed):
    """The thread belongs to a different tenant or workspace."""

    code = "tenant_changed"


class QuotaExceeded(NotAllowed):
    """The tenant's quota is used up."""

    code = "quota_exceeded"
