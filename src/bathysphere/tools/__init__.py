"""Tools without state: guarded fetching and search."""
