"""The HTTP server: the app, its routes, authentication and observability."""
