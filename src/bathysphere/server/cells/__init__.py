"""Cells at the HTTP edge: which tenants an API process serves, and which cell serves a caller."""
