"""A process from settings to shutdown: assembly, services, listener, lifecycle."""
