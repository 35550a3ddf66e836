"""Who may touch what: identity to tenant to workspace root, path rules, quotas. Plain Python."""
