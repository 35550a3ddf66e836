"""ASGI middleware around the app: pure ASGI, so that streams are not buffered."""
