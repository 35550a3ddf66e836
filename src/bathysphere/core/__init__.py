"""Shared basics with no dependencies on the rest of the package: errors, ids, the clock."""
