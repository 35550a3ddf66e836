"""A tenant's files over HTTP: listing, changes, undo."""
