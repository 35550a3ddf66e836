"""Tenants, workspaces and their roots, path rules and quotas. Plain Python."""
