"""A project that knows nothing of the server it runs on."""
