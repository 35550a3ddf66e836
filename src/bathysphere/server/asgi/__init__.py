"""What every request passes before it reaches the app: pure ASGI, so that streams stay streams."""
