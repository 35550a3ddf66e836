"""Flow control for an agent's tool calls."""

from bathysphere.middleware.flow.middleware import FlowMiddleware

__all__ = ["FlowMiddleware"]
