"""The person's own documents, which stay on their device."""

from bathysphere.middleware.client_files.middleware import ClientFilesMiddleware

__all__ = ["ClientFilesMiddleware"]
